"""Runs a program for `torchwhy check`: a rehearsal, then further runs with one thing changed."""

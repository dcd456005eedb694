"""Tests of single subcommands."""

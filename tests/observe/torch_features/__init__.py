"""Tests of the table of private names."""

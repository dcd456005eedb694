"""Tests of how steps are observed."""

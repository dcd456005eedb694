"""Tests of the manual pages: reading, grouping and searching them."""

"""Edits that cure errors of everyday life."""

"""Finds the samples behind a bad value: the batch that was used, and its rows in the dataset."""

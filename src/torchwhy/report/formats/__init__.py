"""The report for other programs and for pull requests: one file per format, from the data of the report."""

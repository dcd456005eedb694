"""Commands about the runs that are recorded here."""

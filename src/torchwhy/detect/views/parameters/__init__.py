"""Which optimizer trains which parameter, and which parameters no optimizer trains."""

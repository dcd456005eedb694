"""Which optimizer trains which parameter, and which parameters nothing trains."""

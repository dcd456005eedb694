"""`torchwhy view`: the runs of a folder in a browser on this machine, and one that is still going."""

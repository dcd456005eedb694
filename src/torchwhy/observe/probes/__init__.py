"""One file per thing watched."""

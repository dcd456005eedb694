"""One file per thing that is watched."""

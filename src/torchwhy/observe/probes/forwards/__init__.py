"""Counts how the program calls its models, per place and mode, and looks at dropout that is off."""

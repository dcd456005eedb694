"""The reference, from parsers, docstrings and the JSON schema."""

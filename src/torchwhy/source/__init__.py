"""The program's text: files, scopes, bindings, calls, values, edits. Reads source, never runs it; needs no torch."""

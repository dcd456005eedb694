"""The program's text, one model of it: files, scopes, bindings, calls, values, edits. Runs nothing, needs no torch."""

"""Parts of report.json: how fixes, places and silenced findings are written and read."""

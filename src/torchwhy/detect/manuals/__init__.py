"""The manual pages of all causes: read from Markdown, grouped by what the user sees, and searched."""

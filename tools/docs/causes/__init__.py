"""The gallery of causes, from manual pages and pinned reports."""

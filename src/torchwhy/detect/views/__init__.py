"""Questions that causes put to a trace, by what they are about. A view reads events and changes nothing."""

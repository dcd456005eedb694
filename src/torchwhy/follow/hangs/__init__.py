"""Notices that no process of a run makes steps any more, asks all of them where they stand, and tells it."""

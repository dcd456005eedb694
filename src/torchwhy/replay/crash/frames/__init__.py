"""Reads the frames of a traceback: their places, values, failing call and source. Runs no code of the user's."""

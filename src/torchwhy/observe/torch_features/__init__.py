"""Private names of torch and of CPython: all that torchwhy uses, and what is lost where one is missing.

`table` lists them, `resolve` gets them and never raises, the other modules turn them into functions that the rest of
torchwhy calls. No private name is used outside of this package; a test holds that.
"""

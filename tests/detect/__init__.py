"""Tests of the detectors: on small traces, and on every program their manual pages show."""

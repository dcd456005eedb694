"""Tests of the stage that turns findings into one story."""

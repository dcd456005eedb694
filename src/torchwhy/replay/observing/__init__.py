"""Observes steps under the microscope: what puts it on and off, and what is recorded meanwhile."""

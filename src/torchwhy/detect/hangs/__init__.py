"""A standstill of all processes → where each stands, and why they wait if their records prove it."""

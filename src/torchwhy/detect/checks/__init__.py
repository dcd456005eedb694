"""The questions that a recorded run answers: what each needs of the trace, and what was measured."""

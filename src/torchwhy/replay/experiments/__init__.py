"""Questions put to the live program between steps; state is as before afterwards, the answer is an event."""

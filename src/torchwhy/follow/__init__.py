"""The trace of a program that still runs → what is told of it meanwhile. Judges as the report will; needs no torch."""

"""What the loss of a step is made of: formulas, errors and terms."""

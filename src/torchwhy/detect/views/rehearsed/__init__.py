"""What the experiments of the check-up recorded."""

"""Follows optimizers: what each one holds, whether it steps, and whether its gradients are cleared."""

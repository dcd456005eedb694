"""What the message of an everyday error does not say: of checkpoints, devices, optimizers, schedules, distributions."""

"""Where a process stands: the stacks it writes when asked, its newest collectives, and a standstill as it was found."""

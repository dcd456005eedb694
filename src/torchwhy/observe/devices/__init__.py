"""What an accelerator needs besides: few waits for it, its random generators, its memory."""

"""What a program keeps and loads: states of modules, checkpoint files, averages, running statistics."""

"""What a child process of any launcher loads first: the folder of this file is on its PYTHONPATH."""

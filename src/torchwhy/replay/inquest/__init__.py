"""What a traceback does not show: who carried a graph over, where one was cut, who wrote in place. For a `Crash`."""

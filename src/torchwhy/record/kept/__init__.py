"""Events about what a program keeps from one moment of its training to another."""

"""What goes in: the data, its order, and how it is drawn."""

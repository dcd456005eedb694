"""What loaders draw and hand out."""

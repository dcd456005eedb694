"""Does it learn, and from what? Most are asked by training copies of captured steps."""

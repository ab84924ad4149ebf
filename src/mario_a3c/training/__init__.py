"""Training: the loop, what it is built from, and how it ends."""

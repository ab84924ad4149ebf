"""A way through every stage, found by searching the game itself, and what follows from it: maps and start states."""

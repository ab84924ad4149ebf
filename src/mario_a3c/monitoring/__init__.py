"""Watches a run: whether it lives, where its time and memory go, and what looks wrong."""

"""Observation -> action, with the memory's state: the one place that acts."""

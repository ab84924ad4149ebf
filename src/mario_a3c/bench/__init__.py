"""Measurements: how fast the parts are, beside what others offer, in one run."""

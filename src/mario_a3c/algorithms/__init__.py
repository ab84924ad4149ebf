"""Targets and losses of actor-critics: pure functions of tensors."""

"""From environments and an actor to rollouts."""

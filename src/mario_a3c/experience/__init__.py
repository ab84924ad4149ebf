"""What was lived through: rollouts, and the replay of past ones."""

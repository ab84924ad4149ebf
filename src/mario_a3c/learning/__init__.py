"""From rollouts to better weights."""

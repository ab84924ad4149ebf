"""Search for settings: many short runs, and what was best."""

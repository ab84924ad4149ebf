"""The `mario` command: one module per word, each with its `Arguments` and `run`."""

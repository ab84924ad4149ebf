"""Networks, and what this machine's PyTorch can do for them."""

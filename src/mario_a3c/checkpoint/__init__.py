"""A store of named tensors and JSON: whole files or none, readable by nothing that executes."""

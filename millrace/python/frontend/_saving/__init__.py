"""Checkpoints: the values of variables in files, which of them are there, and graphs beside them."""

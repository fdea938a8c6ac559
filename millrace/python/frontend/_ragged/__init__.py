"""Ragged tensors: rows of different lengths, and the functions that take them."""

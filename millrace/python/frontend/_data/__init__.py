"""Datasets, and the iterators that walk along them."""

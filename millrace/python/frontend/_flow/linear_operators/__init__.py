"""Matrices that know how they are made up, and so what they do to vectors without being written out."""

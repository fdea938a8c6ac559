"""Layers: variables and the nodes that use them, under one name."""

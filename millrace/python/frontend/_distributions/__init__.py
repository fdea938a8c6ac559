"""Distributions of chance: what they draw, how likely values are, and how far two are apart."""

"""Distributions: values to draw, their densities, what is known of them."""

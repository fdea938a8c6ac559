"""Nets for images that slim has, with its names of variables: weights that others trained load into them."""

"""Canned estimators: linear models, networks, both together and none, made of feature columns and a head."""

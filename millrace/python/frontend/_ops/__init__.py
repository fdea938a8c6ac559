"""Ops whose Python form is more than their wrapper."""

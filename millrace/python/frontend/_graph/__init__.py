"""The graph of a program: its nodes, its scopes, and the way from a Python value to a node."""

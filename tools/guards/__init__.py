"""The checks behind tools/floors: one module each, listed in checks.py."""

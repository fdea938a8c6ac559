"""One thing or another, one after another, or again."""

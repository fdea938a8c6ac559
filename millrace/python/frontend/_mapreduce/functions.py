"""What jobs reduce and combine by most often."""


def add(key, values):
    """Reduces, or combines, to the sum."""
    return sum(values)


def tally(key, values):
    """Reduces to how often a key came; `map` then gives keys alone, and nothing else needs to be said to combine them."""
    return sum(values)


def collect(key, values):
    """Reduces to a list of all values."""
    return list(values)

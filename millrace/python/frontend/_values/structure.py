"""Nested structures: lists, tuples, namedtuples and dictionaries of things."""

from collections.abc import MappingView


def is_sequence(value):
    return isinstance(value, (list, tuple, dict))


def flatten(structure):
    """The leaves, in order; those of a dictionary in the order of its sorted keys, of `its.values()` in its own."""
    if isinstance(structure, dict):
        return [leaf for key in keys_of(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple, MappingView)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack(structure, leaves):
    """A structure like `structure` with other leaves."""
    iterator = iter(leaves)
    return _packed(structure, iterator)


def _packed(structure, leaves):
    if isinstance(structure, dict):
        return packed_dictionary(structure, lambda value: _packed(value, leaves))
    if isinstance(structure, (list, tuple)):
        items = [_packed(item, leaves) for item in structure]
        return rebuilt(structure, items)
    return next(leaves)


def rebuilt(original, items):
    """A list, tuple or namedtuple of the kind of `original`."""
    if hasattr(original, "_make"):
        return original._make(items)
    return type(original)(items)


def map_structure(function, structure, *others):
    """A structure of function(leaf, ...) over the leaves of equally built structures."""
    columns = [flatten(each) for each in (structure, *others)]
    return pack(structure, [function(*leaves) for leaves in zip(*columns, strict=True)])


def assert_same_structure(first, second, what="structures"):
    """Raises ValueError if one has other nesting or other keys than the other, TypeError for kinds."""
    if is_sequence(first) != is_sequence(second):
        raise ValueError(f"The two {what} don't have the same nesting: {first!r} and {second!r}")
    if not is_sequence(first):
        return
    for a, b in pairs_of(first, second, what):
        assert_same_structure(a, b, what)


def pairs_of(first, second, what):
    """The parts of two structures side by side: ValueError for other keys or lengths, TypeError for kinds."""
    if isinstance(first, dict) != isinstance(second, dict):
        raise TypeError(f"The two {what} don't have the same type: {first!r} and {second!r}")
    if isinstance(first, dict):
        if set(first) != set(second):
            raise ValueError(f"The two {what} have different keys: {first!r} and {second!r}")
        return [(first[key], second[key]) for key in first]
    if len(first) != len(second):
        raise ValueError(f"The two {what} have different lengths: {first!r} and {second!r}")
    return zip(first, second)


def packed_dictionary(original, packed):
    """A dictionary of the kind and order of `original`, of packed(value) by its keys, called in their order."""
    made = {key: packed(original[key]) for key in keys_of(original)}
    ordered = {key: made[key] for key in original}
    return ordered if type(original) is dict else type(original)(ordered)


def keys_of(dictionary):
    """Sorted, if they can be."""
    try:
        return sorted(dictionary)
    except TypeError:
        return list(dictionary)

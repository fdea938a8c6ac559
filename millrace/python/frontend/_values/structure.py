"""Nested structures: lists, tuples, namedtuples and dictionaries of things."""


def is_sequence(value):
    return isinstance(value, (list, tuple, dict))


def flatten(structure):
    """The leaves, in order; those of a dictionary in the order of its sorted keys."""
    if isinstance(structure, dict):
        return [leaf for key in _keys(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in flatten(item)]
    return [structure]


def pack(structure, leaves):
    """A structure like `structure` with other leaves."""
    iterator = iter(leaves)
    return _packed(structure, iterator)


def _packed(structure, leaves):
    if isinstance(structure, dict):
        made = {key: _packed(structure[key], leaves) for key in _keys(structure)}
        ordered = {key: made[key] for key in structure}
        return ordered if type(structure) is dict else type(structure)(ordered)
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
    if isinstance(first, dict) != isinstance(second, dict):
        raise TypeError(f"The two {what} don't have the same type: {first!r} and {second!r}")
    if isinstance(first, dict):
        if set(first) != set(second):
            raise ValueError(f"The two {what} have different keys: {first!r} and {second!r}")
        pairs = [(first[key], second[key]) for key in first]
    else:
        if len(first) != len(second):
            raise ValueError(f"The two {what} have different lengths: {first!r} and {second!r}")
        pairs = zip(first, second)
    for a, b in pairs:
        assert_same_structure(a, b, what)


def _keys(dictionary):
    try:
        return sorted(dictionary)
    except TypeError:
        return list(dictionary)

"""Nested structures as tf.contrib.framework.nest offers them to programs."""

from millrace._values import structure as structures

is_sequence = structures.is_sequence
is_nested = structures.is_sequence
flatten = structures.flatten


def assert_same_structure(nest1, nest2, check_types=True):
    """Raises ValueError if two structures are nested differently.

    Args:
      nest1, nest2: leaves, or lists, tuples, namedtuples and dictionaries of structures.
      check_types: True to raise TypeError where a list or tuple is of another type.
    """
    structures.assert_same_structure(nest1, nest2)
    if check_types and structures.is_sequence(nest1):
        if type(nest1) is not type(nest2):
            raise TypeError(
                "The two structures don't have the same sequence type: "
                f"{type(nest1).__name__} and {type(nest2).__name__}"
            )
        keys = nest1 if isinstance(nest1, dict) else range(len(nest1))
        for key in keys:
            assert_same_structure(nest1[key], nest2[key])


def map_structure(func, *structure, check_types=True):
    """A structure of func(leaf, ...) over the leaves of one structure, or of several built alike.

    Raises:
      TypeError: if `func` can't be called; ValueError: if there is no structure, or they differ.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    return structures.map_structure(func, *structure)


def pack_sequence_as(structure, flat_sequence):
    """A structure like `structure` with the leaves of a list.

    Raises:
      ValueError: if it has more or fewer leaves.
    """
    leaves = list(flat_sequence)
    count = len(structures.flatten(structure))
    if len(leaves) != count:
        raise ValueError(
            f"Structure had {count} elements, but flat_sequence had {len(leaves)} elements. "
            f"Structure: {structure!r}, flat_sequence: {leaves!r}."
        )
    return structures.pack(structure, leaves)

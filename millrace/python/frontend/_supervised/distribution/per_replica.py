"""Values that each replica has one of, and structures of them."""

from millrace._values.structure import map_structure


class PerReplica:
    """What the replicas of one task have at one place.

    Attributes:
      values: a tuple, by replica.
    """

    def __init__(self, values):
        self.values = tuple(values)

    def __repr__(self):
        return f"PerReplica{self.values!r}"


def regrouped(structures):
    """One structure of the replicas' structures: a PerReplica where they differ, what they share as it is.

    Args:
      structures: by replica; tuples, namedtuples, lists and dictionaries of anything, all built alike.

    Raises:
      TypeError: if replicas gave structures of different kinds, or of different lengths or keys.
    """
    first = structures[0]
    if all(one is first for one in structures[1:]):
        return first
    kind = type(first)
    if kind not in (list, tuple, dict) and not hasattr(first, "_make"):
        return PerReplica(structures)
    if not all(type(one) is kind and len(one) == len(first) for one in structures):
        raise TypeError(f"replicas gave structures that are not built alike: {structures!r}")
    if isinstance(first, dict):
        if any(set(one) != set(first) for one in structures):
            raise TypeError(f"replicas gave dictionaries with different keys: {structures!r}")
        return {key: regrouped([one[key] for one in structures]) for key in first}
    parts = [regrouped(list(one)) for one in zip(*structures)]
    return first._make(parts) if hasattr(first, "_make") else kind(parts)


def part_of(replica, structure):
    """A replica's part of a structure that may have PerReplicas in it."""
    return map_structure(
        lambda leaf: leaf.values[replica] if isinstance(leaf, PerReplica) else leaf, structure
    )


def local_values(value, count):
    """A tuple: what each of `count` replicas has of a value; `value` itself if all share it."""
    if isinstance(value, PerReplica):
        return value.values
    copies = getattr(value, "copies", None)
    return (value,) if copies is None else tuple(copies)[:count]

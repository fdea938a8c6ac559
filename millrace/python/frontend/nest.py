"""tf.nest: lists, tuples, namedtuples and dictionaries of things, leaf by leaf."""

from millrace._values.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)

"""tf.contrib.framework.nest: lists, tuples and dictionaries of things, leaf by leaf."""

from millrace._values.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    is_sequence,
    map_structure,
    pack_sequence_as,
)

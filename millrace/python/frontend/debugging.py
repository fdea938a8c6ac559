"""tf.debugging: checks that run with the graph."""

from millrace._flow.checks import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_scalar,
    assert_type,
    is_numeric_tensor,
)
from millrace._flow.control_flow import Assert
from millrace._gen import is_finite

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
from millrace._flow.number_checks import (
    assert_all_finite,
    assert_near,
    assert_proper_iterable,
    assert_same_float_dtype,
)
from millrace._flow.shape_checks import assert_shapes
from millrace._gen import check_numerics, is_finite, is_inf, is_nan
from millrace._ops.statistics import is_non_decreasing, is_strictly_increasing
from millrace._run.process_options import options as _options


def get_log_device_placement():
    """Whether sessions of this process that have no ConfigProto tell where their ops go."""
    return _options.log_placement


def set_log_device_placement(enabled):
    """Says whether sessions made from now on without a ConfigProto tell where their ops go."""
    _options.log_placement = bool(enabled)

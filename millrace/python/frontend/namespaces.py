"""The names below tf: tf.math, tf.nn, tf.strings and so on, as modules.

Each is a table from the name that programs use to the one that the package uses.
"""

import sys
import types

_MATH = """abs accumulate_n add add_n argmax argmin ceil cos count_nonzero cumsum divide equal
exp expm1 floor floordiv floormod greater greater_equal is_finite is_inf is_nan less less_equal log log1p
logical_and logical_not logical_or logical_xor maximum minimum multiply negative not_equal pow
reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum rint
round rsqrt sigmoid sign sin sqrt square squared_difference subtract tan tanh truediv
reciprocal scalar_mul softplus""".split()
_STRINGS = {
    "join": "string_join",
    "split": "string_split",
    "length": "string_length",
    "to_number": "string_to_number",
    "as_string": "as_string",
}
_RANDOM = {
    "uniform": "random_uniform",
    "normal": "random_normal",
    "truncated_normal": "truncated_normal",
    "shuffle": "random_shuffle",
    "set_random_seed": "set_random_seed",
}
_INITIALIZERS = {
    "zeros": "zeros_initializer",
    "ones": "ones_initializer",
    "constant": "constant_initializer",
    "random_uniform": "random_uniform_initializer",
    "random_normal": "random_normal_initializer",
    "truncated_normal": "truncated_normal_initializer",
    "variance_scaling": "variance_scaling_initializer",
    "glorot_uniform": "glorot_uniform_initializer",
    "glorot_normal": "glorot_normal_initializer",
}
_QUEUE = {
    name: name
    for name in "QueueBase FIFOQueue RandomShuffleQueue PaddingFIFOQueue PriorityQueue".split()
}
_LINALG = {"matmul": "matmul", "transpose": "matrix_transpose", "tensordot": "tensordot"}
_DEBUGGING = {"Assert": "Assert", "is_finite": "is_finite"}
_NN = "relu relu6 softplus sigmoid tanh l2_loss".split()

TABLES = {
    "math": {name: name for name in _MATH},
    "strings": _STRINGS,
    "random": _RANDOM,
    "initializers": _INITIALIZERS,
    "queue": _QUEUE,
    "linalg": _LINALG,
    "debugging": _DEBUGGING,
    "nn": {name: name for name in _NN},
}


class _Namespace(types.ModuleType):
    """Names that are looked up in the package when they are used."""

    def __init__(self, package, name, table):
        super().__init__(f"{package.__name__}.{name}", f"tf.{name}")
        self._package = package
        self._table = table

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._table:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return getattr(self._package, self._table[name])

    def __dir__(self):
        return sorted(self._table)


def make(package, name):
    """The namespace `name` of the package; None if there is none."""
    if name not in TABLES:
        return None
    made = _Namespace(package, name, TABLES[name])
    return sys.modules.setdefault(made.__name__, made)

"""Millrace: graphs of tensors that may span computers, in the manner of TensorFlow 1.

    import millrace as tf

    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x * 2.0)
    with tf.Session() as session:
        print(session.run(y, {x: [1, 2, 3]}))

Every op of the runtime is here under its snake_case name, written from the op registry; functions that
TensorFlow 1 names or shapes differently are written by hand.
"""

import atexit as _atexit

from millrace import _millrace
from millrace import errors
from millrace import dtypes as _dtypes
from millrace.dtypes import DType, as_dtype
from millrace.tensor_shape import Dimension, TensorShape
from millrace.device import DeviceSpec
from millrace.operation import NodeDef, Operation, Tensor
from millrace.graph_collections import (
    GraphKeys,
    add_to_collection,
    add_to_collections,
    get_collection,
    get_collection_ref,
)
from millrace.graph import (
    Graph,
    colocate_with,
    control_dependencies,
    device,
    get_default_graph,
    has_default_graph,
    init_scope,
    name_scope,
    reset_default_graph,
)
from millrace.conversion import (
    constant,
    constant_value,
    convert_n_to_tensor,
    convert_to_tensor,
    register_tensor_conversion_function,
)
from millrace import gen_ops
from millrace import operators as _operators
from millrace.operators import python2_divide as div
from millrace.operators import true_divide as truediv
from millrace.linear_algebra import matmul, tensordot
from millrace.math_ops import *
from millrace.reductions import *
from millrace.array_ops import *
from millrace.random_ops import *
from millrace.debug_ops import Print
from millrace.control_flow import (
    Assert,
    case,
    cond,
    group,
    no_op,
    tuple,
    while_loop,
    with_dependencies,
)
from millrace.variables import (
    Variable,
    disable_resource_variables,
    enable_resource_variables,
    is_variable_initialized,
    resource_variables_enabled,
)
from millrace.variable_groups import (
    all_variables,
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    local_variables,
    local_variables_initializer,
    model_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from millrace.state_ops import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    scatter_add,
    scatter_sub,
    scatter_update,
)
from millrace.init_ops import (
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from millrace.string_ops import string_split
from millrace.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_scope,
)
from millrace.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)
from millrace.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from millrace.default_session import get_default_session
from millrace.session import InteractiveSession, Session
from millrace.cluster import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace.graph_def import GraphDef, import_graph_def
from millrace import targets as _targets

OpError = errors.OpError
newaxis = None

for _name in _dtypes.ALL:
    globals()[_name] = getattr(_dtypes, _name)
    globals()[_name + "_ref"] = getattr(_dtypes, _name)._as_ref
del _name

_operators.install()

__version__ = _millrace.version
VERSION = __version__
GIT_VERSION = __version__
GRAPH_DEF_VERSION = _millrace.graph_def_version

# TensorFlow's names for ops whose own names differ.
_RENAMED = {
    "batch_matmul": "batch_mat_mul_v2",
    "floordiv": "floor_div",
    "floormod": "floor_mod",
    "inv": "reciprocal",
    "mod": "floor_mod",
    "realdiv": "real_div",
    "truncatediv": "truncate_div",
    "truncatemod": "truncate_mod",
}
# Modules that are loaded when they are first used, under the names that programs have for them.
_MODULES = {
    "app": "app",
    "compat": "compat",
    "contrib": "contrib",
    "flags": "flags",
    "gfile": "gfile",
    "logging": "tf_logging",
    "raw_ops": "raw_ops",
    "train": "train",
}


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'millrace' has no attribute '{name}'")
    import sys

    # Not by `import`, which would ask this function for what it is about to load.
    from importlib import import_module

    if name in _MODULES:
        found = import_module(f"{__name__}.{_MODULES[name]}")
    else:
        found = import_module(f"{__name__}.namespaces").make(sys.modules[__name__], name)
    if found is None:
        found = getattr(gen_ops, _RENAMED.get(name, name), None)
    if found is None:
        raise AttributeError(f"module 'millrace' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__():
    from importlib import import_module

    namespaces = import_module(f"{__name__}.namespaces")
    wrappers = {name for name in vars(gen_ops) if not name.startswith("_")}
    return sorted({*globals(), *_MODULES, *_RENAMED, *namespaces.TABLES, *wrappers})


def disable_v2_behavior():
    """Does nothing: graphs behave as in TensorFlow 1."""


def disable_eager_execution():
    """Does nothing: nothing runs until a session runs it."""


def executing_eagerly():
    """False."""
    return False


_atexit.register(_targets.stop_all)

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
import os as _os
from importlib import import_module as _import_module

from millrace import _gen, _millrace
from millrace._names import before_1_0 as _before_1_0
from millrace._names import finder as _finder
from millrace._values import dtypes as _dtypes
from millrace._values.device_spec import DeviceSpec
from millrace._values.dtypes import DType, as_dtype
from millrace._values.errors import OpError
from millrace._values.tensor_shape import (
    Dimension,
    TensorShape,
    dimension_at_index,
    dimension_value,
)
from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import (
    constant,
    constant_value,
    convert_n_to_tensor,
    convert_to_tensor,
    register_tensor_conversion_function,
)
from millrace._graph.default_graph import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    container,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    init_scope,
    name_scope,
)
from millrace._graph.default_session import get_default_session
from millrace._graph.graph import (
    Graph,
    get_default_graph,
    has_default_graph,
    reset_default_graph,
)
from millrace._graph.graph_def import GraphDef
from millrace._graph.graph_import import import_graph_def
from millrace._graph.operation import NodeDef, Operation, Tensor
from millrace._graph.sparse_tensor import SparseTensor, SparseTensorValue, is_sparse
from millrace._graph.sparse_tensor import to_tensor_or_sparse as convert_to_tensor_or_sparse_tensor
from millrace._ops import operators as _operators
from millrace._ops.arithmetic import *
from millrace._ops.arrays import *
from millrace._ops.clipping import *
from millrace._ops.complex_values import *
from millrace._ops.debug import Print
from millrace._ops.gradients import *
from millrace._ops.gradients import NotDifferentiable
from millrace._ops.linear_algebra import matmul, tensordot
from millrace._ops.matrices import *
from millrace._ops.matrices import tensor_diag as diag
from millrace._ops.matrices import tensor_diag_part as diag_part
from millrace._ops.matrix_solving import *
from millrace._ops.operators import python2_divide as div
from millrace._ops.operators import true_divide as truediv
from millrace._ops.parsing import *
from millrace._ops.quantizing import *
from millrace._ops.random_values import *
from millrace._ops.rearranging import *
from millrace._ops.reductions import *
from millrace._ops.segments import *
from millrace._ops.sets import edit_distance
from millrace._ops.shaped import *
from millrace._ops import sparse_arithmetic as _sparse_arithmetic
from millrace._ops.sparse import (
    deserialize_many_sparse,
    deserialize_sparse,
    serialize_many_sparse,
    serialize_sparse,
    sparse_mask,
    sparse_placeholder,
    sparse_tensor_to_dense,
    sparse_to_indicator,
)
from millrace._ops.sparse_arithmetic import (
    sparse_add,
    sparse_maximum,
    sparse_minimum,
    sparse_reduce_max,
    sparse_reduce_max_sparse,
    sparse_reduce_sum,
    sparse_reduce_sum_sparse,
    sparse_softmax,
    sparse_tensor_dense_matmul,
)
from millrace._ops.sparse_layout import (
    sparse_concat,
    sparse_fill_empty_rows,
    sparse_merge,
    sparse_reorder,
    sparse_reshape,
    sparse_retain,
    sparse_slice,
    sparse_split,
    sparse_transpose,
)
from millrace._ops.text import *
from millrace._ops.statistics import (
    is_non_decreasing,
    is_strictly_increasing,
    lbeta,
    to_bfloat16,
    to_complex64,
    to_complex128,
)
from millrace._flow.checks import *
from millrace._flow.control_flow import (
    Assert,
    case,
    cond,
    group,
    no_op,
    tuple,
    while_loop,
    with_dependencies,
)
from millrace._flow.functional import *
from millrace._flow.hessians import hessians
from millrace._flow.sparse_shapes import sparse_reset_shape
from millrace._flow.tensor_array import TensorArray
from millrace._input.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    ReaderBase,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from millrace._state.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from millrace._state.assignments import (
    assign,
    assign_add,
    assign_sub,
    count_up_to,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from millrace._state.critical_sections import CriticalSection
from millrace._state.custom_gradient import custom_gradient
from millrace._state.initializers import (
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
from millrace._state.named_variables import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_scope,
)
from millrace._state.partitioned_variables import (
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from millrace._state.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)
from millrace._state.scaled_initializers import (
    Orthogonal as orthogonal_initializer,
)
from millrace._state.scaled_initializers import (
    UniformUnitScaling as uniform_unit_scaling_initializer,
)
from millrace._state.tables import initialize_all_tables, tables_initializer
from millrace._state.variable_groups import (
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
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from millrace._state.variables import (
    Variable,
    disable_resource_variables,
    enable_resource_variables,
    is_variable_initialized,
    resource_variables_enabled,
)
from millrace._cluster.cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef
from millrace._measures.confusion import confusion_matrix
from millrace._run import targets as _targets
from millrace._run.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)
from millrace._run.session_handles import (
    delete_session_tensor,
    get_session_handle,
    get_session_tensor,
)
from millrace._run.session import InteractiveSession, Session

# Launchers alone ask for it: it loads what most programs do without.
if not _os.environ.keys().isdisjoint(_millrace.report_variables):
    from millrace._run import last_words as _last_words

newaxis = None

for _name in _dtypes.ALL:
    globals()[_name] = getattr(_dtypes, _name)
    globals()[_name + "_ref"] = getattr(_dtypes, _name).as_reference
del _name

_operators.install()
_sparse_arithmetic.install()
_finder.install()

__version__ = _millrace.version
VERSION = __version__
GIT_VERSION = __version__
GRAPH_DEF_VERSION = _millrace.graph_def_version

# Modules that are loaded when they are first used.
_MODULES = frozenset(
    "app bitwise compat config contrib data debugging distribute distributions dtypes errors estimator feature_column flags gfile "
    "graph_util image initializers io keras layers linalg logging lookup losses manip mapreduce math metrics "
    "nest nn profiler python_io quantization queue ragged random raw_ops regularizers resource_loader saved_model sets signal sparse spectral "
    "strings summary sysconfig tasks test tpu train version xla".split()
)

# Names that few programs use, by the module that has them: loaded likewise.
_ELSEWHERE = {
    "CXX11_ABI_FLAG": "sysconfig",
    "MONOLITHIC_BUILD": "sysconfig",
    "GradientTape": "_state.gradient_tape",
    "IndexedSlicesSpec": "_ops.composite_specs",
    "OptionalSpec": "_data.dataset_spec",
    "RaggedTensorSpec": "_ragged.specs",
    "SparseTensorSpec": "_ops.composite_specs",
    "TensorArraySpec": "_flow.tensor_array_spec",
    "TensorSpec": "_values.tensor_spec",
    "TypeSpec": "_values.type_spec",
    "AttrValue": "_saving.graph_messages",
    "GRAPH_DEF_VERSION_MIN_CONSUMER": "version",
    "GRAPH_DEF_VERSION_MIN_PRODUCER": "version",
    "MetaGraphDef": "_saving.meta_graph",
    "NameAttrList": "_saving.graph_messages",
    "RaggedTensor": "_ragged.ready",
    "SparseFeature": "_ops.parsing",
    "TensorInfo": "_saving.model_messages",
    "VariableAggregation": "_state.variable_sharing",
    "VariableSynchronization": "_state.variable_sharing",
    "add_check_numerics_ops": "_flow.number_checks",
    "argsort": "_ops.sorting",
    "assert_near": "_flow.number_checks",
    "assert_proper_iterable": "_flow.number_checks",
    "assert_same_float_dtype": "_flow.number_checks",
    "broadcast_dynamic_shape": "_ops.broadcasting",
    "broadcast_static_shape": "_ops.broadcasting",
    "convert_to_tensor_or_indexed_slices": "_ops.gradients",
    "create_partitioned_variables": "_state.scopes_of_old",
    "get_logger": "logging",
    "grad_pass_through": "_state.recomputing",
    "is_tensor": "_graph.sparse_tensor",
    "load_file_system_library": "_graph.op_libraries",
    "load_library": "_graph.op_libraries",
    "load_op_library": "_graph.op_libraries",
    "make_ndarray": "_saving.tensor_protos",
    "make_template": "_state.templates",
    "make_tensor_proto": "_saving.tensor_protos",
    "recompute_grad": "_state.recomputing",
    "repeat": "_ops.broadcasting",
    "searchsorted": "_ops.sorting",
    "sort": "_ops.sorting",
    "switch_case": "_flow.switch_case",
    "type_spec_from_value": "_data.specs",
    "variable_creator_scope": "_state.variable_creators",
    "variable_op_scope": "_state.scopes_of_old",
    "verify_tensor_all_finite": "_flow.number_checks",
    "where_v2": "_ops.broadcasting",
    "Event": "_summaries.messages",
    "HistogramProto": "_summaries.messages",
    "LogMessage": "_summaries.messages",
    "SessionLog": "_summaries.messages",
    "Summary": "_summaries.messages",
    "SummaryMetadata": "_summaries.messages",
    "numpy_function": "_ops.script_calls",
    "print": "_ops.printing",
    "py_func": "_ops.script_calls",
    "py_function": "_run.eager_calls",
}

# Wrappers of ops, loaded likewise. Those whose names TensorFlow dropped before 1.0 stand for what took
# their place (_names/before_1_0.py); those that have a name of another thing are in tf.raw_ops.
_OPS = _gen.FUNCTIONS.keys() - _before_1_0.RENAMED.keys() - _ELSEWHERE.keys() - _MODULES
_OPS_BY_OTHER_NAMES = {
    "sparse_matmul": "sparse_mat_mul",
    "tensor_scatter_nd_add": "tensor_scatter_add",
    "tensor_scatter_nd_max": "tensor_scatter_max",
    "tensor_scatter_nd_min": "tensor_scatter_min",
    "tensor_scatter_nd_sub": "tensor_scatter_sub",
    "tensor_scatter_nd_update": "tensor_scatter_update",
}


def __getattr__(name):
    if name in _ELSEWHERE:
        return getattr(_import_module(f"{__name__}.{_ELSEWHERE[name]}"), name)
    if name in _MODULES or name in ("core", "python"):
        # Not by `import`, which would ask this function for what it is about to load.
        return _import_module(f"{__name__}.{name}")
    if name in _OPS or name in _OPS_BY_OTHER_NAMES:
        function = globals()[name] = getattr(_gen, _OPS_BY_OTHER_NAMES.get(name, name))
        return function
    return _finder.old_name(__name__, name)


def __dir__():
    # Without what is inside TensorFlow, which is there once a program has imported it.
    return sorted(
        {*globals(), *_MODULES, *_ELSEWHERE, *_OPS, *_OPS_BY_OTHER_NAMES}
        - {"core", "examples", "python"}
    )


def disable_v2_behavior():
    """Does nothing: graphs behave as in TensorFlow 1."""


def disable_eager_execution():
    """Does nothing: nothing runs until a session runs it."""


def executing_eagerly():
    """Whether Tensors have values: in functions of tf.py_function alone."""
    return get_default_graph().has_values


def disable_v2_tensorshape():
    """Does nothing: the sizes of a shape are Dimensions, as in TensorFlow 1."""


def disable_tensor_equality():
    """Does nothing: Tensors are equal if they are the same one, as in TensorFlow 1."""


def enable_control_flow_v2():
    """Does nothing: branches and loops are nodes of TensorFlow 1's kinds, and compute the same."""


def disable_control_flow_v2():
    """Does nothing, as enable_control_flow_v2."""


def control_flow_v2_enabled():
    """False."""
    return False


no_gradient = NotDifferentiable
get_static_value = constant_value


_atexit.register(_targets.stop_all)

"""The global step: the variable that counts how often a model was updated."""

from millrace._graph.collections import GraphKeys
from millrace._graph.graph import get_default_graph
from millrace._graph.operation import Tensor
from millrace._state.initializers import Zeros
from millrace._state.named_variables import get_variable
from millrace._state.variables import Variable
from millrace._values import dtypes


def global_step(sess, global_step_tensor):
    """The number of steps, from a session, as an int."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph=None):
    """The global step of a graph (the default one if None), or None if there is none.

    It is the one in the collection GLOBAL_STEP, else what is called "global_step:0".

    Raises:
      TypeError: if that cannot count steps.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        return None  # as in TensorFlow, which logs it: none of them is the one
    if not found:
        try:
            found = [graph.get_tensor_by_name("global_step:0")]
        except KeyError:
            return None
    assert_global_step(found[0])
    return found[0]


def create_global_step(graph=None):
    """A new global step, "global_step". ValueError if the graph has one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph=None):
    """The global step of a graph, made if there is none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor):
    """TypeError unless this is an integer scalar: a Variable or a Tensor."""
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(
            f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.'
        )
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(
            'Existing "global_step" does not have integer type: ' f"{global_step_tensor.dtype}"
        )
    shape = global_step_tensor.shape
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


_READ = "global_step_read_op_cache"  # the collection, as in TensorFlow


def get_or_create_global_step_read(graph=None):
    """A Tensor that reads the global step, made once per graph; None if there is no global step.

    It may be read before or after the step that runs with it updates the variable.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(_READ)
    if found:
        return found[0]
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(None):
        with graph.name_scope(step.op.name + "/"):
            # A sum, and so a copy: what is read no longer changes with the variable.
            made = (step.read_value() if isinstance(step, Variable) else step) + 0
    graph.add_to_collection(_READ, made)
    return made


def assert_or_get_global_step(graph=None, global_step_tensor=None):
    """`global_step_tensor`, which can count steps (TypeError if not), or the graph's if it is None."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor

"""The session of a graph's models, and the values of variables in it."""

import weakref

from millrace._graph.collections import GraphKeys
from millrace._graph.conversion import constant
from millrace._graph.default_graph import get_collection_ref
from millrace._graph.default_session import get_default_session
from millrace._graph.graph import get_default_graph, reset_default_graph
from millrace._ops.arrays import placeholder_with_default
from millrace._run.session import Session
from millrace._state.variables import is_variable_initialized
from millrace._values import dtypes


class _State:
    """What models of one graph share.

    Attributes:
      session: the one that was set or made, or None.
      phase: the Tensor that says whether they train, or what was set in its place; None before either.
      variables: those of layers and optimizers.
      ready: for each session those that are known to have a value there.
      checks: for each variable the Tensor that says whether it has one.
    """

    def __init__(self):
        self.session = self.phase = None
        self.variables = []
        self.ready = weakref.WeakKeyDictionary()
        self.checks = {}


def _state():
    return get_default_graph().own(_State)


def track(variables):
    """Has get_session initialize these where they have no value yet."""
    held = _state().variables
    held.extend(each for each in variables if not any(each is other for other in held))


class Tracking:
    """In a `with` block: tracks all variables that are made in it."""

    def __enter__(self):
        self._known = len(get_collection_ref(GraphKeys.GLOBAL_VARIABLES))

    def __exit__(self, *unused):
        track(get_collection_ref(GraphKeys.GLOBAL_VARIABLES)[self._known :])


def get_session():
    """The default session, or one of the models' own; its models' variables have values.

    Returns:
      a Session of the default graph.
    """
    state, graph = _state(), get_default_graph()
    session = get_default_session()
    if session is None or session.graph is not graph:
        if state.session is None:
            state.session = Session(graph=graph)
        session = state.session
    ready = state.ready.setdefault(session, set())
    asked = [each for each in state.variables if each.name not in ready]
    if asked:
        for each in asked:
            if each.name not in state.checks:
                state.checks[each.name] = is_variable_initialized(each)
        have = session.run([state.checks[each.name] for each in asked])
        session.run([each.initializer for each, has in zip(asked, have) if not has])
        ready.update(each.name for each in asked)
    return session


def set_session(session):
    """Has models of the default graph run in this session where there is no default one."""
    _state().session = session


def clear_session():
    """Closes the models' session and begins with an empty default graph."""
    session = _state().session
    if session is not None:
        session.close()
    reset_default_graph()


def learning_phase():
    """Whether models train, a bool scalar: false unless it is fed, or what set_learning_phase set."""
    state = _state()
    if state.phase is None:
        with get_default_graph().control_dependencies(None):
            state.phase = placeholder_with_default(
                constant(False, dtypes.bool), [], name="keras_learning_phase"
            )
    return state.phase


def set_learning_phase(value):
    """Fixes it. ValueError unless it is 0 or 1."""
    if value not in (0, 1):
        raise ValueError(f"Expected learning phase to be 0 or 1, not {value!r}.")
    _state().phase = bool(value)


def fixed_learning_phase():
    """What set_learning_phase set, or the Tensor that was made in its place, or None."""
    return _state().phase


def restore_learning_phase(phase):
    """Has learning_phase() be what fixed_learning_phase gave before."""
    _state().phase = phase


def get_value(x):
    """The value of a variable or Tensor."""
    return get_session().run(x)


def batch_get_value(tensors):
    """The values of a list of them."""
    return get_session().run(list(tensors)) if tensors else []


def set_value(x, value):
    """Gives a variable a value."""
    x.load(value, get_session())


def batch_set_value(tuples):
    """Gives each of a list of (variable, value) its value."""
    session = get_session()
    for variable, value in tuples:
        variable.load(value, session)

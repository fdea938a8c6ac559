"""One function for each replica of a task, in turns: replicas meet in merge_call, and one runs at a time.

A replica that waits in the middle of its function needs a stack of its own, so each has a thread. What surrounds
new nodes belongs to the graph, which has one: it is put away and brought back at each turn.
"""

import contextlib
import threading

from millrace._graph.graph import get_default_graph
from millrace._layers.arg_scopes import arg_scope, current_arg_scope
from millrace._state.named_variables import (
    get_variable_scope,
    put_scopes_of_variables,
    scopes_of_variables,
    variable_scope,
)
from millrace._state.object_names import object_names_of, put_object_names
from millrace._state.replica_contexts import contexts_of, entered, put_contexts
from millrace._state.variable_creators import creators_of, put_creators, variable_creator_scope
from millrace._supervised.distribution.per_replica import part_of, regrouped
from millrace._supervised.distribution.replica_context import ReplicaContext


def run_each(strategy, function, args, kwargs):
    """[what a function gives] for each replica of this task, called with its parts of the arguments.

    Args:
      strategy: the strategy, at work above its replicas.
      function: builds a replica's nodes.
      args, kwargs: its arguments, in which PerReplicas stand for what differs.

    Raises:
      RuntimeError: if some replicas come to a merge_call and others don't;
      whatever the function of a replica raises.
    """
    devices = strategy.extended.worker_devices
    if len(devices) == 1:
        return [_run_alone(strategy, devices[0], function, args, kwargs)]
    return _Turns(strategy, function, args, kwargs).run()


def _run_alone(strategy, device, function, args, kwargs):
    def meet(merge_fn, own_args, own_kwargs, barrier):
        with entered(strategy):
            return part_of(0, merge_fn(strategy, *own_args, **own_kwargs))

    with entered(strategy, ReplicaContext(strategy, 0, meet)), get_default_graph().device(device):
        return function(*part_of(0, args), **part_of(0, kwargs))


class _Turns:
    """The replicas of one call."""

    def __init__(self, strategy, function, args, kwargs):
        self._strategy = strategy
        self._graph = get_default_graph()
        self._outside = _taken(self._graph)
        self._arguments = current_arg_scope()  # each thread has scopes of its own
        self._made = {}  # variables by name, in the order in which the first replica makes them
        self._replicas = [
            _Replica(
                self._graph,
                lambda meet, number=number: self._run_one(number, meet, function, args, kwargs),
                self._outside,
            )
            for number in range(len(strategy.extended.worker_devices))
        ]

    def run(self):
        answers = [None] * len(self._replicas)
        try:
            while True:
                for replica, answer in zip(self._replicas, answers):
                    replica.take_turn(answer)
                _put(self._graph, self._outside)
                waiting = [replica for replica in self._replicas if replica.question]
                if not waiting:
                    self._keep_opened()
                    return [replica.result for replica in self._replicas]
                if len(waiting) < len(self._replicas):
                    raise RuntimeError(
                        f"{len(waiting)} of {len(self._replicas)} replicas came to a merge_call and the "
                        "others ended: all replicas must do the same"
                    )
                merged = self._merged([replica.question for replica in waiting])
                answers = [part_of(number, merged) for number in range(len(self._replicas))]
        finally:
            for replica in self._replicas:
                replica.give_up()
            _put(self._graph, self._outside)

    def _merged(self, questions):
        """What the function of a merge_call gives, above the replicas."""
        merge_fn = questions[0][0]
        args = [args for _, args, _, _ in questions]
        kwargs = [kwargs for _, _, kwargs, _ in questions]
        barriers = [barrier for _, _, _, barrier in questions if barrier is not None]
        first = self._replicas[0]
        scope_before = self._graph.swap_name_scope(first.name_scope)
        put_scopes_of_variables(self._graph, first.scopes_of_variables)
        try:
            with entered(self._strategy), contextlib.ExitStack() as stack:
                if barriers:
                    stack.enter_context(self._graph.control_dependencies(barriers))
                return merge_fn(self._strategy, *regrouped(args), **regrouped(kwargs))
        finally:
            self._graph.swap_name_scope(scope_before)
            _, opened = scopes_of_variables(self._graph)
            for replica in self._replicas:
                replica.note_opened(opened)

    def _keep_opened(self):
        """Has what follows find the same default names taken as the first replica has."""
        surroundings, (scope, _), creators, contexts, _ = self._outside
        first = self._replicas[0]
        opened = scope, first.scopes_of_variables[1]
        self._outside = surroundings, opened, creators, contexts, first.names_of_objects

    def _run_one(self, number, meet, function, args, kwargs):
        """A replica's function, in its thread."""
        strategy, graph = self._strategy, self._graph
        device = strategy.extended.worker_devices[number]
        with contextlib.ExitStack() as stack:
            enter = stack.enter_context
            enter(entered(strategy, ReplicaContext(strategy, number, meet)))
            enter(graph.device(device))
            enter(arg_scope(self._arguments))
            enter(variable_creator_scope(self._creator(number)))
            if number:
                enter(graph.name_scope(f"replica_{number}"))
                enter(variable_scope(get_variable_scope(), reuse=True, auxiliary_name_scope=False))
            return function(*part_of(number, args), **part_of(number, kwargs))

    def _creator(self, number):
        """What makes the variables of a replica: the first one's are everyone's."""
        taken = {}

        def creator(next_creator, **kwargs):
            made = self._made.setdefault(kwargs.get("name"), [])
            if number == 0:
                made.append(next_creator(**kwargs))
                return made[-1]
            index = taken.get(kwargs.get("name"), 0)
            taken[kwargs.get("name")] = index + 1
            if index >= len(made):
                raise RuntimeError(
                    f"replica {number} makes a variable (name={kwargs.get('name')!r}) that the first "
                    "replica has not made: all replicas must do the same"
                )
            return made[index]

        return creator


class _Replica(threading.Thread):
    """The thread of one replica, which runs only in its turns.

    Attributes:
      question: what it asked merge_call, a tuple; None once it has ended.
      result: what its function gave.
    """

    def __init__(self, graph, body, surroundings):
        super().__init__(name="replica", daemon=True)
        self._graph = graph
        self._body = body
        self._surroundings = surroundings
        self._turn, self._over = threading.Semaphore(0), threading.Semaphore(0)
        self._is_given_up = False
        self._error = self._answer = self.question = self.result = None

    @property
    def name_scope(self):
        (scope, *_), *_ = self._surroundings[0]
        return scope

    @property
    def scopes_of_variables(self):
        return self._surroundings[1]

    @property
    def names_of_objects(self):
        return self._surroundings[-1]

    def note_opened(self, levels):
        """Told which variable scopes a merge_call has opened: their default names are taken from then on."""
        _, own = self.scopes_of_variables
        # From the innermost on: all but the first replica are in one scope more, at the outside.
        for place, (one, other) in enumerate(zip(reversed(own), reversed(levels)), 1):
            own[-place] = one.joined(other)

    def take_turn(self, answer):
        """Lets it run until it comes to a merge_call or ends. Raises what it raises."""
        self._answer, self.question = answer, None
        _put(self._graph, self._surroundings)
        if self.ident is None:
            self.start()
        self._turn.release()
        self._over.acquire()
        self._surroundings = _taken(self._graph)
        if self._error is not None:
            raise self._error

    def give_up(self):
        """Ends it where it waits, if it does."""
        if self.ident is None or not self.is_alive():
            return
        self._is_given_up = True
        _put(self._graph, self._surroundings)
        self._turn.release()
        self.join()

    def run(self):
        self._turn.acquire()
        try:
            with self._graph.as_default():
                self.result = self._body(self._meet)
        except _GivenUp:
            pass
        except BaseException as error:
            self._error = error
        finally:
            self.question = None
            self._over.release()

    def _meet(self, *question):
        if self._is_given_up:  # and the function went on nevertheless: no further turn comes
            raise _GivenUp
        self.question = question
        self._over.release()
        self._turn.acquire()
        if self._is_given_up:
            raise _GivenUp
        return self._answer


class _GivenUp(BaseException):
    """Ends a replica's function whose answer nobody wants."""


def _taken(graph):
    """What surrounds new nodes and variables of a graph."""
    return (
        graph.surroundings(),
        scopes_of_variables(graph),
        creators_of(graph),
        contexts_of(graph),
        object_names_of(graph),
    )


def _put(graph, taken):
    surroundings, scopes, creators, contexts, names = taken
    graph.put_surroundings(surroundings)
    put_scopes_of_variables(graph, scopes)
    put_creators(graph, creators)
    put_contexts(graph, contexts)
    put_object_names(graph, names)

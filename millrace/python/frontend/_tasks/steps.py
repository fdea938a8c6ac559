"""What an App keeps on its broker, as a graph, and the steps that programs make there.

All of it is in the resources of one task, by names that begin with the App's. Every program that uses the
App builds the same nodes, and finds the same things by them.
"""

import dataclasses

from millrace import _gen as gen_ops
from millrace._graph.default_graph import control_dependencies, device
from millrace._graph.graph import Graph
from millrace._ops.arrays import constant, placeholder, placeholder_with_default, stack, unstack
from millrace._state.queues import PriorityQueue
from millrace._state.staging import MapStagingArea
from millrace._state.tables import MutableHashTable
from millrace._values import dtypes

# Of no call. The step that settles a call always puts a result and a state: under this key if it has
# none. What is there stays, or is put there again, so nothing grows under it.
NO_ID = 0
AT_ONCE = 32  # how many results one step fetches


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """One kind of step: what is fetched, and what is fed, in order."""

    fetches: object
    feeds: tuple = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Lending:
    """The steps on calls that one of the queues lends.

    Attributes:
      take: settles what was lent before, and takes the next: feeds a lease ("" for none), then those of
        `Steps.plain`. Fetches what `Loan` is made of.
      take_whole: the same with all that a Settlement can have, the feeds of `Steps.whole`.
      end, end_whole: settle alone, and acknowledge. The same feeds.
      extend, give_back: of a lease.
    """

    take: Step
    take_whole: Step
    end: Step
    end_whole: Step
    extend: Step
    give_back: Step


class Steps:
    """The nodes: of the queues of calls (`waiting`, in order of priority; `later`, in order of eta),
    the tables (`states`, `running` and `revoked`, by ids; `periods`, by names) and the results."""

    def __init__(self, name, place, lease):
        self.graph = Graph()
        with self.graph.as_default(), device(place):
            self._build(name, lease)
        self.graph.finalize()

    def _build(self, name, lease):
        waiting = PriorityQueue(
            -1, [dtypes.int64, dtypes.string], shapes=[(), ()], shared_name=f"{name}_waiting"
        )
        later = PriorityQueue(-1, [dtypes.string], shapes=[()], shared_name=f"{name}_later")
        states, running, revoked = (
            MutableHashTable(dtypes.int64, dtypes.string, "", shared_name=f"{name}_{which}")
            for which in ("states", "running", "revoked")
        )
        results = MapStagingArea([dtypes.string], shapes=[()], shared_name=f"{name}_results")
        self._build_sending(waiting, states, results)
        self._build_settling(waiting, later, states, running, results)
        self._build_taking(waiting, later, states, running, revoked, lease)
        self._build_looking(states, running, revoked, results)
        self._build_periods(name)
        self.sizes = Step((waiting.size(), later.size(), *waiting.lease_counts()))

    def _build_sending(self, waiting, states, results):
        """One call, without a lease: its state first, so that who sees it in the queue finds it."""
        number, state = placeholder(dtypes.int64, []), placeholder(dtypes.string, [])
        priority, text = placeholder(dtypes.int64, []), placeholder(dtypes.string, [])
        with control_dependencies([states.insert(number, state)]):
            sent = waiting.enqueue([priority, number, text])
        feeds = (number, state, priority, text)
        self.send_one = Step(sent, feeds)
        with control_dependencies([sent]):
            self.ask = Step(results.peek(number)[0], feeds)

    def _build_settling(self, waiting, later, states, running, results):
        """One step with all that a call's settlement changes. Under a lease all but the result is done
        once for the element, by whoever comes first; and of two results the first one stays.

        In this order: who sees a call in a queue finds its state; what follows a call waits before the
        call has ended; and a call that has ended has its result.

        Whatever is settled, it is these nodes that do it, since updates are told from each other by their
        nodes' names. What is not fed changes nothing.
        """
        numbers, texts = (lambda: _vector(dtypes.int64)), (lambda: _vector(dtypes.string))
        fresh, put = (numbers(), texts()), (numbers(), numbers(), texts())
        put_later = numbers(), texts()
        ended, gone = _scalar(dtypes.int64, NO_ID), _scalar(dtypes.int64, NO_ID)
        result, state = _scalar(dtypes.string, ""), _scalar(dtypes.string, "")
        done = states.insert(*fresh)
        for queue, elements in ((waiting, put), (later, put_later)):
            with control_dependencies([done]):
                done = queue.enqueue_many(list(elements))
        self.send = Step(done, (*fresh, *put, *put_later))
        with control_dependencies([done]):
            done = results.put(ended, [result], indices=[0])
        with control_dependencies([done]):
            done = states.insert(ended, state)
        with control_dependencies([done]):
            self.settle = running.remove(gone)
        self.plain = (ended, result, state, gone)
        self.whole = (*self.plain, *self.send.feeds)

    def _build_taking(self, waiting, later, states, running, revoked, lease):
        self.lease = placeholder(dtypes.string, [])
        self.under = gen_ops.step_lease(self.lease).op
        worker = placeholder(dtypes.string, [])
        with control_dependencies([self.settle]):
            _, number, text = waiting.dequeue()
            _, text_later = later.dequeue()
        with control_dependencies([number]):
            since = gen_ops.as_string(gen_ops.timestamp(), precision=6)
        # Done once for the element, so only its first attempt is told like this.
        told = gen_ops.string_join([worker, since, constant("}")])
        with control_dependencies([running.insert(number, told)]):
            state = states.lookup(number)
        taken = [number, text, state, revoked.lookup(number)]
        self.calls = self._lending(waiting, lease, taken, (worker,))
        self.dues = self._lending(later, lease, [text_later], ())

    def _lending(self, queue, seconds, taken, feeds):
        # The step's lease turns the dequeue into one that acknowledges what is fed when all of its
        # settlement is done, and then lends the next. What depends on that is made under the new one.
        held = gen_ops.step_lease(self.lease, takes=True, seconds=seconds)
        with control_dependencies([self.settle]):
            end = gen_ops.queue_end_lease(queue.queue_ref, self.lease)
        fetches, settled = [held, *taken], [end, self.under]
        extend = gen_ops.queue_extend_lease(queue.queue_ref, self.lease, seconds=seconds)
        back = gen_ops.queue_end_lease(queue.queue_ref, self.lease, gives_back=True)
        return Lending(
            take=Step(fetches, (self.lease, *feeds, *self.plain)),
            take_whole=Step(fetches, (self.lease, *feeds, *self.whole)),
            end=Step(settled, (self.lease, *self.plain)),
            end_whole=Step(settled, (self.lease, *self.whole)),
            extend=Step(extend, (self.lease,)),
            give_back=Step(back, (self.lease,)),
        )

    def _build_looking(self, states, running, revoked, results):
        number, numbers = placeholder(dtypes.int64, []), placeholder(dtypes.int64, [None])
        text = placeholder(dtypes.string, [])
        self.look = Step([states.lookup(number), revoked.lookup(number)], (number,))
        self.look_states = Step(states.lookup(numbers), (numbers,))
        self.begin = Step(running.insert(number, text), (number, text))
        self.look_running = Step(running.lookup(number), (number,))
        self.revoke = Step(revoked.insert(number, constant("revoked")), (number,))
        forgotten = (states.remove(number), revoked.remove(number), running.remove(number))
        self.forget = Step(forgotten, (number,))
        self.list = Step((states.export(), running.export(), revoked.export()))

        found = results.peek(number)[0]
        self.result = Step(found, (number,))
        with control_dependencies([found]):
            others = states.lookup(numbers)
        self.result_and_states = Step([found, others], (number, numbers))
        many = placeholder(dtypes.int64, [AT_ONCE])
        found = stack([results.peek(each)[0] for each in unstack(many)])
        with control_dependencies([found]):
            others = states.lookup(numbers)
        self.results = Step([found, others], (many, numbers))
        self.drop_result = Step(results.get(number)[1], (number,))

    def _build_periods(self, name):
        periods = MutableHashTable(dtypes.string, dtypes.string, "", shared_name=f"{name}_periods")
        key, text = placeholder(dtypes.string, []), placeholder(dtypes.string, [])
        self.look_period, self.periods = Step(periods.lookup(key), (key,)), Step(periods.export())
        self.set_period = Step(periods.insert(key, text), (key, text))
        self.end_period = Step(periods.remove(key), (key,))


def _vector(dtype):
    """A vector that may be fed; nothing is in it otherwise."""
    return placeholder_with_default(constant([], dtype), [None])


def _scalar(dtype, default):
    return placeholder_with_default(constant(default, dtype), [])

"""App: tasks by their names, and the sending of calls of them."""

import dataclasses
import json
import random
import time

from millrace._state.leased import LONGEST_LEASE
from millrace._tasks import calls, code, results, values, verdicts
from millrace._tasks.broker import Broker
from millrace._tasks.unread import Unread

_PATIENCE = 30.0  # seconds


@dataclasses.dataclass(frozen=True)
class Task:
    """A function that workers run by its name. Called, it runs here and now, as any function.

    Attributes: those of App.task, and `function`.
    """

    app: "App" = dataclasses.field(repr=False)
    name: str
    function: object = dataclasses.field(repr=False)
    retries: int = 0
    retry_on: tuple = (Exception,)
    pause: float = 1.0
    longest_pause: float = 600.0
    time_limit: float = 0.0
    expires: float = 0.0
    priority: int = 0
    rate: object = None
    attempts: int = 3

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def delay(self, *args, **kwargs):
        """Sends a call with these arguments; its Result."""
        return self.s(*args, **kwargs).send()

    def send(self, args=(), kwargs=None, **options):
        """Sends a call; its Result. `options` as of App.send."""
        return self.app.send(self.name, args, kwargs, **options)

    def s(self, *args, **kwargs):
        """A Signature: a call with these arguments that is not sent yet."""
        return Signature(self.app, self.name, args, kwargs)

    def si(self, *args, **kwargs):
        """The same, which in a chain is not given the value of the call before it."""
        return Signature(self.app, self.name, args, kwargs, takes_value=False)

    def every(self, seconds, args=(), kwargs=None, name=None):
        """Runs it every so many seconds from now on. As App.every, under the task's own name."""
        self.app.every(seconds, self.s(*args, **(kwargs or {})), name or self.name)


@dataclasses.dataclass(frozen=True)
class Signature:
    """A call that is not sent yet: for chains, groups, chords, or to be sent with options.

    Attributes:
      app, name, args, kwargs: what is called.
      takes_value: whether a chain gives it the value of the call before it.
      options: as of App.send.
    """

    app: "App" = dataclasses.field(repr=False)
    name: str
    args: tuple = ()
    kwargs: dict = dataclasses.field(default_factory=dict)
    takes_value: bool = True
    options: dict = dataclasses.field(default_factory=dict)

    def set(self, **options):
        """The same with options: eta, countdown, expires, priority."""
        return dataclasses.replace(self, options={**self.options, **options})

    def send(self, **options):
        """Sends it; its Result."""
        call = self.call(**options)
        return self.app.send_calls([call], [call.id])[0]

    def get(self, timeout=results.PATIENCE, **options):
        """Sends it, and waits for its value: what `send(**options).get(timeout)` gives, in one step.

        Raises:
          as send, and as Result.get.
        """
        return self.app.ask(self.call(**options), timeout)

    def call(self, **options):
        """The Call with an id of its own."""
        return self.app.call_of(self, {**self.options, **options})


class App:
    """Tasks, and the broker on which calls of them wait for workers.

        app = tasks.App("grpc://localhost:2222")

        @app.task(retries=3)
        def add(x, y):
            return x + y

        add.delay(2, 3).get(timeout=10)

    The broker is any task that serves: `millrace serve`, or one of a job. It runs none of this: what
    is kept there are two queues, four tables and an area of results, under names that begin with `name`.

    Args:
      broker: its target, "grpc://HOST:PORT", or a tf.train.Server's.
      device: of the broker in its cluster, "/job:broker/task:0"; None if the target is that task alone.
      name: which tells Apps on one broker apart: letters, digits and underscores.
      lease: seconds after which a call goes to another worker if the one that has it is silent: dead,
        stopped, cut off, or in C code that keeps all of Python waiting.
      patience: seconds that the broker may take to answer.
      keep: seconds for which results are kept.
      pickles: True to let values travel as pickles that can't otherwise. Reading a pickle can run any
        code: only if all who reach the broker may do with its workers what they like.
      runs_code: True to let workers of this App run functions that came as code. The same holds.
      clock: tells the time in seconds since 1970.
      random: draws ids: has getrandbits().
    """

    def __init__(
        self,
        broker,
        *,
        device=None,
        name="tasks",
        lease=10.0,
        patience=_PATIENCE,
        keep=86400.0,
        pickles=False,
        runs_code=False,
        clock=time.time,
        random=random.SystemRandom(),
    ):
        if not name.isidentifier() or not name.isascii():
            raise ValueError(f"name is {name!r}; give letters, digits and underscores")
        if not patience > 0 or not keep > 0:
            raise ValueError(
                f"patience is {patience!r} and keep {keep!r} s; both must be more than 0"
            )
        if isinstance(lease, bool) or not 0 < lease <= LONGEST_LEASE:
            raise ValueError(
                f"lease is {lease!r} s; it must be more than 0 and at most {LONGEST_LEASE:g}"
            )
        self.name = name
        self.keep = keep
        self.pickles = pickles
        self.runs_code = runs_code
        self.clock = clock
        self.tasks = {}
        self.broker = Broker(broker, device, name, lease, patience)
        self.unread = Unread(self.broker)
        self._random = random

    def task(self, function=None, *, name=None, **options):
        """Makes a function a Task: `@app.task`, or with options `@app.task(retries=3)`.

        Args:
          name: by which it is called; None for "module.function".
          retries: how often it is tried again after an error.
          retry_on: exceptions that it is tried again after; one class or several.
          pause: seconds before the first retry. Each is twice the one before, and up to a fifth more.
          longest_pause: seconds.
          time_limit: seconds after which TimeLimitExceeded is raised inside of the function, between
            two steps of Python; 0 for none.
          expires: seconds after which a call that was sent is not begun any more; 0 for never.
          priority: the larger goes first; any whole number.
          rate: how many each worker begins: "10/s", "600/m", "1000/h", a number per second; None for any.
          attempts: how many workers may die of a call, or be stopped with it, before it ends as DEAD.

        Raises:
          ValueError: for two tasks of one name, and for options that make no sense.
        """
        if function is None:
            return lambda given: self.task(given, name=name, **options)
        if "retry_on" in options and isinstance(options["retry_on"], type):
            options["retry_on"] = (options["retry_on"],)
        name = name or f"{function.__module__}.{function.__name__}"
        made = Task(self, name, function, **options)
        if name in self.tasks:
            raise ValueError(f"there is a task '{name}' already: give one of them another name")
        verdicts.read_rate(made.rate)
        for what in ("retries", "pause", "longest_pause", "time_limit", "expires"):
            if not getattr(made, what) >= 0:
                raise ValueError(f"{what} of task '{name}' is {getattr(made, what)!r}, less than 0")
        if made.attempts < 1:
            raise ValueError(
                f"attempts of task '{name}' is {made.attempts!r}; at least 1 has it run"
            )
        self.tasks[name] = made
        return made

    # ---- Sending ---------------------------------------------------------------------------------

    def send(self, name, args=(), kwargs=None, **options):
        """Sends a call of a task by its name, which only workers need to know; its Result.

        Args:
          name: of the task.
          args, kwargs: numbers, text, bytes, lists, tuples, dicts, arrays.
          countdown: seconds before which it is not run.
          eta: the same as a moment: seconds since 1970, or a datetime.
          expires: seconds from now after which it is not begun any more; 0 for never.
          priority: the larger goes first.

        Raises:
          TypeError: for what does not travel.
          ValueError: for a priority beyond 63 bits, and an eta that never comes.
          tasks.BrokerLost: a ConnectionError: it may have been sent or not.
        """
        return Signature(self, name, tuple(args), dict(kwargs or {})).send(**options)

    def send_code(self, function, args=(), kwargs=None, **options):
        """Sends a call together with the function itself, which workers need not know.

        They run it only if their App has runs_code=True. The function finds no globals but the builtins,
        and imports what it needs. Sender and worker need the same version of Python.
        """
        made = Signature(self, f"code:{function.__qualname__}", tuple(args), dict(kwargs or {}))
        call = made.call(**options).but(code=code.packed_code(function))
        return self.send_calls([call], [call.id])[0]

    def call_of(self, signature, options):
        """The Call of a Signature, with an id of its own."""
        unknown = options.keys() - {"countdown", "eta", "expires", "priority"}
        if unknown:
            raise TypeError(f"unknown options of a call: {', '.join(sorted(unknown))}")
        known = self.tasks.get(signature.name)
        now = self.clock()
        eta = options.get("eta", 0.0)
        eta = eta.timestamp() if hasattr(eta, "timestamp") else float(eta)
        if options.get("countdown"):
            eta = now + options["countdown"]
        expires = options.get("expires", known.expires if known else 0.0)
        call = calls.Call(
            id=self.fresh_id(),
            name=signature.name,
            args=values.packed(list(signature.args), self.pickles, f"args of '{signature.name}'"),
            kwargs=values.packed(signature.kwargs, self.pickles, f"kwargs of '{signature.name}'"),
            priority=int(options.get("priority", known.priority if known else 0)),
            sent=now,
            eta=eta,
            expires=now + expires if expires else 0.0,
            takes_value=signature.takes_value,
        )
        calls.check_order(call)
        return call

    def fresh_id(self):
        """An id that no call has."""
        return 1 + self._random.getrandbits(62)

    def send_calls(self, sent, wanted):
        """Sends Calls, and what follows each in a chain, in one step: the Results of those whose ids are wanted."""
        self.broker.send(self._sent(sent))
        for number in wanted:
            self.unread.add(number)
        return [self._result(number) for number in wanted]

    def ask(self, call, timeout):
        """Sends a Call, and waits for its value."""
        text = self.broker.ask(self._sent([call]), timeout)
        return results.value_of(calls.shown_id(call.id), json.loads(text), self.pickles)

    def _sent(self, sent):
        now = self.clock()
        told = [each for first in sent for each in (first, *first.then)]
        return verdicts.Settlement(
            fresh={each.id: each.state(calls.WAITING, now) for each in told},
            waiting=[each for each in sent if each.eta <= now and not each.gathers],
            later=[each for each in sent if each.eta > now or each.gathers],
        )

    def _result(self, number):
        return results.Result(self.broker, number, self.pickles, self.unread)

    def result(self, number):
        """The Result of a call by its id: an int, or the text that Result.id is."""
        return self._result(calls.read_id(number) if isinstance(number, str) else number)

    # ---- What is repeated ------------------------------------------------------------------------

    def every(self, seconds, signature, name):
        """Sends a call every so many seconds from now on, once however many workers there are.

        What was repeated under the name before is not any more. Times that pass while there is no
        worker are left out.

        Raises:
          ValueError: for 0 seconds or less, and for times that never come.
        """
        if not 0 < seconds <= calls.LATEST / 2:
            raise ValueError(
                f"every {seconds!r} s makes no sense: give more than 0, and a time that comes"
            )
        number, now = self.fresh_id(), self.clock()
        first = signature.call().but(period=(name, number, float(seconds)), eta=now + seconds)
        told = {"number": number, "every": seconds, "task": signature.name}
        self.broker.set_period(name, json.dumps(told).encode())
        self.broker.send(verdicts.Settlement(later=[first]))

    def end_period(self, name):
        """Ends what is repeated under a name."""
        self.broker.set_period(name, b"")

    def close(self):
        """Ends the connection. The next call makes another."""
        self.broker.close()

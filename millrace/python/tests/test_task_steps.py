"""How many steps calls of millrace.tasks take, and what holds while one step does several things."""

import queue
import threading
import time

import pytest

from millrace import tasks
from millrace._tasks import calls
from millrace._tasks.seats import Loan, Seat
from millrace._tasks.steps import AT_ONCE
from millrace._tasks.verdicts import Settlement
from task_bench import WAIT, Bench, ended


@pytest.fixture
def bench():
    made = Bench()
    # Nothing is extended meanwhile, which would be counted too.
    made.app = made.another_app(lease=1e6)
    yield made
    made.stop()


@pytest.fixture
def add(bench):
    @bench.app.task(name="add")
    def add(x, y=0):
        return x + y

    return add


class Counted:
    """How many steps an App makes inside of a `with` block."""

    def __init__(self, app):
        self._broker = app.broker

    def __enter__(self):
        self._before = self._broker.steps_made
        return self

    def __exit__(self, *_):
        self.steps = self._broker.steps_made - self._before


def start(bench):
    """Starts a worker; returns when its threads wait for calls, and ask nothing else."""
    worker = bench.start()
    while worker.steps_made < 2:
        time.sleep(0.001)


# ---- A worker's steps ----------------------------------------------------------------------------


def test_a_call_takes_one_step_of_its_worker(bench, add):
    sent = tasks.Group(add.s(i) for i in range(50)).send()
    worker = bench.start()
    assert sent.get(WAIT) == list(range(50))
    # Each take settles the call before it. The last one waits, as does that of a call for later.
    assert worker.steps_made == 50 + 2


def test_a_call_that_fails_or_is_followed_by_others_takes_one_as_well(bench, add):
    worker = bench.start()
    assert ended(add.delay("a")).state == "FAILURE"
    assert tasks.Chain(add.s(1), add.s(2), add.s(3)).send().get(WAIT) == 6
    while worker.steps_made < 4 + 2:
        time.sleep(0.001)
    assert worker.steps_made == 4 + 2


def test_what_settles_a_call_is_done_though_nothing_waits_to_be_taken(bench, add):
    bench.start()
    result = add.delay(1)
    assert result.get(WAIT) == 1
    end = time.monotonic() + WAIT
    while result.state != "SUCCESS" or bench.app.broker.sizes() != (0, 0, 0):
        assert time.monotonic() < end
    assert bench.app.broker.running(calls.read_id(result.id)) == b""


def test_who_has_a_call_is_told_for_each_attempt(bench):
    attempts, go = queue.Queue(), threading.Event()

    @bench.app.task(name="hold")
    def hold():
        attempts.put(tasks.current().attempt)
        assert go.wait(WAIT)

    def told(result):
        return bench.app.broker.running(calls.read_id(result.id)).decode()

    result = hold.delay()
    seat = Seat(bench.app.broker, bench.app.broker.steps.calls, '{"worker": "first", "since": ')
    assert seat.connect()
    loan = seat.take()
    assert told(result).startswith('{"worker": "first", "since": 1') and result.state == "STARTED"
    seat.give_back(loan)
    bench.start(name="second")
    assert attempts.get(timeout=WAIT) == 2
    assert '"second"' in told(result) and '"attempt": 2' in told(result)
    again = hold.delay()
    go.set()
    result.get(WAIT)
    again.get(WAIT)
    seat.close()


def test_a_call_whose_id_is_another_in_its_queue_is_put_aside(bench, add):
    call = add.s(1).call()
    steps = bench.app.broker.steps
    connection = bench.app.broker.connect(WAIT)
    connection.run(steps.send_one, 7, call.state(calls.WAITING, 1.0), 0, call.text())
    bench.start()
    assert add.delay(2).get(WAIT) == 2
    assert f"its id is {call.id}, and 7 in its queue" in "".join(bench.told)
    connection.close()


def test_a_worker_that_stops_settles_what_it_runs_and_takes_no_more(bench, add):
    begun, go = threading.Event(), threading.Event()

    @bench.app.task(name="hold")
    def hold():
        begun.set()
        return go.wait(WAIT)

    worker = bench.start()
    held, behind = hold.delay(), add.delay(1)
    assert begun.wait(WAIT)
    worker.stop()
    go.set()
    assert held.get(WAIT) is True
    worker.join()
    assert (held.state, behind.state) == ("SUCCESS", "WAITING")
    assert bench.app.broker.sizes() == (1, 0, 0)


# ---- A client's steps ----------------------------------------------------------------------------


def test_sending_and_asking_take_a_step_each_or_one_together(bench, add):
    start(bench)
    with Counted(bench.app) as apart:
        assert add.delay(1, 2).get(WAIT) == 3
    assert apart.steps == 2
    with Counted(bench.app) as together:
        assert add.s(1, 2).get(WAIT) == 3
    assert together.steps == 1
    with pytest.raises(tasks.TaskError, match="TypeError"):
        add.s("a").get(WAIT)


def test_chains_groups_and_chords_are_asked_likewise(bench):
    app = tasks.App(
        bench.server.target, name="timed", patience=WAIT
    )  # a chord needs a clock that runs
    add = app.task(lambda x, y=0: x + y, name="add")
    total = app.task(sum, name="sum")
    bench.start(app)
    assert tasks.Chain(add.s(1), add.s(2)).get(WAIT) == 3
    assert tasks.Group(add.s(1), add.s(2)).get(WAIT) == [1, 2]
    assert tasks.Chord([add.s(1), add.s(2)], total.s()).get(WAIT) == 3
    bench.stop()
    app.close()


def test_one_step_waits_no_longer_than_it_is_told(bench, add):
    with pytest.raises(tasks.NoResult, match="no result after"):
        add.s(1).get(1.3)
    with pytest.raises(tasks.NoResult, match="no result after 0.1 s"):
        add.s(1).get(0.1)
    assert bench.app.broker.sizes()[0] == 2
    hasty = tasks.App(bench.server.target, patience=1.1)
    start, number = time.monotonic(), add.s(1).call().id
    with pytest.raises(tasks.NoResult, match="no result after 1.3 s; it is UNKNOWN"):
        hasty.result(number).get(1.3)  # in two steps, the first of which fails
    assert time.monotonic() - start >= 1.25
    hasty.close()
    bench.start()
    assert add.s(1).set(countdown=0.0).get(WAIT) == 1


def test_results_that_are_there_come_many_at_a_time(bench, add):
    sent = [add.delay(i) for i in range(100)]
    bench.start()
    while not sent[-1].is_ready():
        pass
    with Counted(bench.app) as counted:
        assert [each.get(WAIT) for each in sent] == list(range(100))
    # One that looks at one other; those that look at more each time; then as many as come at once.
    assert counted.steps <= 4 + 100 / AT_ONCE + 1


def test_a_group_asks_few_times(bench, add):
    start(bench)
    with Counted(bench.app) as counted:
        sent = tasks.Group(add.s(i) for i in range(4 * AT_ONCE)).send()
        assert sent.get(WAIT) == list(range(4 * AT_ONCE))
    # One to send, two for each batch; a wait that took too long is made again for fewer.
    assert counted.steps <= 1 + 2 * 4 + 12
    assert sent.get(WAIT) == list(range(4 * AT_ONCE))


def test_results_are_read_in_any_order_and_thrown_away_unread(bench, add):
    bench.start()
    sent = [add.delay(i) for i in range(20)]
    while not sent[-1].is_ready():
        pass
    del sent[3]
    for each, value in zip(reversed(sent), [*range(19, 3, -1), 2, 1, 0]):
        assert each.get(WAIT) == value
    assert sent[5].get(WAIT) == 6  # again


def test_one_that_was_forgotten_holds_up_no_other(bench, add):
    bench.start()
    sent = [add.delay(i) for i in range(3)]
    while not sent[-1].is_ready():
        pass
    assert sent[0].get(WAIT) == 0  # and hears that the others have ended
    bench.app.result(sent[2].id).forget()
    assert sent[1].get(WAIT) == 1
    with pytest.raises(tasks.NoResult, match="UNKNOWN"):
        sent[2].get(0.05)


def test_a_large_result_comes_alone(bench):
    large = bench.app.task(lambda size: "x" * size, name="large")
    bench.start()
    sent = [large.delay(size) for size in (1, 1 << 17, 1, 1 << 17, 1)]
    while not sent[-1].is_ready():
        pass
    assert [len(each.get(WAIT)) for each in sent] == [1, 1 << 17, 1, 1 << 17, 1]
    unread, small = large.delay(1 << 17), large.delay(1)
    while not small.is_ready():
        pass
    small.get(WAIT)
    assert bench.app.unread.fetched() == []
    assert len(unread.get(WAIT)) == 1 << 17


def test_a_group_tells_of_a_failure_while_others_run(bench, add):
    go = threading.Event()
    bench.app.task(lambda: go.wait(WAIT), name="hold")
    bench.start(threads=2)
    sent = tasks.Group(add.s("a"), *[tasks.Signature(bench.app, "hold")] * 2).send()
    with pytest.raises(tasks.TaskError, match="TypeError"):
        sent.get(WAIT)
    go.set()
    sent.results[-1].get(WAIT)


# ---- A seat --------------------------------------------------------------------------------------


class Connection:
    """One on which steps wait until it is closed."""

    def __init__(self):
        self.made = 0
        self.begun, self.closed = threading.Event(), threading.Event()

    def run(self, step, *fed):
        self.begun.set()
        assert self.closed.wait(WAIT)
        raise RuntimeError("closed")

    def close(self):
        self.closed.set()


class Broker:
    """One that tells for how many questions a lease still holds."""

    def __init__(self, holds, patience=WAIT):
        self.connection, self.holds, self.patience = Connection(), holds, patience

    def connect(self):
        return self.connection

    def extend(self, lending, lease):
        assert not self.connection.closed.is_set()
        self.holds -= 1
        return self.holds >= 0


class Lending:
    take = take_whole = end = end_whole = None


def taking(broker):
    """(a seat, the thread in which it settles a call and waits for the next)."""
    seat = Seat(broker, Lending)
    assert seat.connect()

    def take():
        with pytest.raises(RuntimeError):
            seat.take(Loan(b"lease", b""), Settlement())

    thread = threading.Thread(target=take)
    thread.start()
    assert broker.connection.begun.wait(WAIT)
    return seat, thread


def test_a_seat_that_is_stopped_waits_until_its_call_is_settled():
    broker = Broker(holds=3)
    seat, thread = taking(broker)
    seat.stop()
    assert broker.connection.closed.is_set() and broker.holds == -1
    thread.join(WAIT)
    assert not seat.connect()


def test_a_settlement_that_does_not_arrive_ends_the_connection():
    broker = Broker(holds=1 << 60, patience=0.05)
    seat, thread = taking(broker)
    while not broker.connection.closed.is_set():
        seat.keep()
    thread.join(WAIT)
    assert broker.holds > 0


def test_a_lease_that_ends_with_its_settlement_is_not_asked_for_again():
    broker = Broker(holds=0)
    seat, thread = taking(broker)
    seat.keep()
    seat.keep()
    assert broker.holds == -1
    seat.stop()
    thread.join(WAIT)


def test_a_call_that_went_to_another_worker_is_not_settled(bench, add):
    begun, go = threading.Event(), threading.Event()

    @bench.app.task(name="hold")
    def hold():
        begun.set()
        return go.wait(WAIT)

    worker = bench.start()
    result = hold.delay()
    assert begun.wait(WAIT)
    seat = worker.seats[0]
    bench.app.broker.give_back(
        bench.app.broker.steps.calls, seat.held().lease
    )  # as if it had run out
    seat.keep()
    go.set()
    assert result.get(WAIT) is True  # it takes it itself, as the next one
    assert "it went to another worker" in "".join(bench.told)

"""millrace.tasks in one process: what is sent, what workers do with it, and what their senders hear."""

import json
import queue
import sys
import threading

import numpy as np
import pytest

from millrace import tasks
from millrace._tasks import calls, values, verdicts
from millrace._tasks.broker import fed_lists, fed_plain
from millrace._tasks.results import Result
from millrace._tasks.seats import Seat
from millrace._tasks.steps import Step
from millrace._tasks.unread import Unread
from millrace._tasks.worker import drop_old
from task_bench import WAIT, Bench, ended


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.stop()


@pytest.fixture
def add(bench):
    @bench.app.task(name="add")
    def add(x, y=0):
        return x + y

    return add


# ---- One call ------------------------------------------------------------------------------------


class Settling:
    """A broker in which a call's result is there, and its state becomes that of its end after some looks."""

    def __init__(self, looks):
        self.looks, self.forgotten = looks, []

    def result(self, number, seconds, others):
        return json.dumps({"state": calls.SUCCESS, "value": values.packed(3)}), ()

    def look(self, number):
        self.looks -= 1
        state = calls.SUCCESS if self.looks < 0 else calls.WAITING
        return json.dumps({"state": state}).encode(), False

    def running(self, number):
        return b"a worker"

    def forget(self, number, seconds):
        self.forgotten.append(number)


def test_who_has_a_result_sees_the_call_ended_and_forgets_it_when_all_others_do():
    broker = Settling(looks=6)
    result = Result(broker, 7, False, Unread(broker))
    assert (result.state, result.is_ready()) == ("STARTED", False)
    assert result.get() == 3
    assert (result.state, result.is_ready()) == ("SUCCESS", True)
    result.forget()
    assert broker.looks < 0 and broker.forgotten == [7]


def test_a_function_is_called_by_its_name_and_its_value_comes_back(bench, add):
    assert add(1, 2) == 3  # here and now
    result = bench.app.send("add", [1], {"y": 2})
    assert (result.state, result.is_ready()) == ("WAITING", False)
    with pytest.raises(tasks.NoResult, match="no result after 0.01 s; it is WAITING"):
        result.get(0.01)
    bench.start()
    assert result.get(WAIT) == 3
    assert result.get(WAIT) == 3  # as often as one likes
    assert bench.app.result(result.id).get(WAIT) == 3  # and from anywhere
    assert (result.state, result.is_ready()) == ("SUCCESS", True)
    assert add.delay("a", "b").get(WAIT) == "ab"


def test_what_is_done_is_gone_from_the_broker(bench, add):
    worker = bench.start()
    assert add.delay(1, 2).get(WAIT) == 3
    assert add.send([1], countdown=0.0).get(WAIT) == 1
    worker.stop()
    worker.join()
    assert bench.app.broker.sizes() == (0, 0, 0)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, 2.5, True, "ä", b"\xff"],
        {"a": (1, (2,)), "!": 3},
        {1: "one", (2, 3): None},
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.zeros([0, 2], np.complex64),
        np.array(1.5, ">f8"),
        np.float32(0.1),
        np.array([b"a", "b"], object),
    ],
)
def test_values_travel_as_they_are(value):
    came = values.unpacked(json.loads(json.dumps(values.packed(value))))
    assert type(came) is type(value)
    np.testing.assert_equal(came, value)


def test_what_does_not_travel_is_told_to_the_sender_with_its_place(add):
    with pytest.raises(TypeError, match=r"args of 'add'\[0\]\['x'\] is a object"):
        add.delay({"x": object()})


def test_bytes_that_say_nonsense_are_refused():
    for value in (
        {"!": "tensor", "dtype": "O", "shape": [], "base64": ""},
        {"!": "tensor", "dtype": "int32", "shape": [1 << 62], "base64": ""},
        {"!": "tensor", "dtype": "int32", "shape": [1], "base64": "?"},
        {"!": "nothing"},
        {"!": ["list"]},
        {"!": "texts", "shape": [3], "of": ["a"]},
        {"!": "pickle", "base64": ""},
    ):
        with pytest.raises(ValueError):
            values.unpacked(value)


def test_an_error_comes_back_with_its_words_and_the_place(bench, add):
    bench.start()
    error = ended(add.delay(1, "a"))
    assert (error.state, error.name) == ("FAILURE", "add")
    assert error.message.startswith("TypeError: unsupported operand") and "return x + y" in str(
        error
    )


def test_a_task_that_leaves_python_ends_its_call_and_not_the_worker(bench, add):
    bench.app.task(lambda: sys.exit(3), name="leave")
    bench.start()
    assert ended(bench.app.send("leave")).message == "SystemExit: 3"
    assert add.delay(1, 1).get(WAIT) == 2


def test_a_task_that_no_worker_knows_and_what_is_no_call_are_told(bench, add):
    bench.start()
    assert "knows no task 'ad'; it knows add" in ended(bench.app.send("ad")).message
    bench.app.broker.send(verdicts.Settlement(waiting=[calls.Call(0, "add")]))
    assert add.delay(1, 1).get(WAIT) == 2
    assert "what came is no call" in "".join(bench.told)


def test_options_that_make_no_sense_are_refused(bench, add):
    with pytest.raises(ValueError, match="there is a task 'add' already"):
        bench.app.task(print, name="add")
    for options in ({"retries": -1}, {"attempts": 0}, {"rate": "1/y"}, {"pause": -1.0}):
        with pytest.raises(ValueError):
            bench.app.task(print, name="other", **options)
    with pytest.raises(TypeError, match="unknown options of a call: etta"):
        add.send([1], etta=5)
    for options in ({"name": "a b"}, {"keep": 0.0}, {"lease": 0.0}):
        with pytest.raises(ValueError):
            bench.another_app(**options)
    with pytest.raises(ValueError):
        tasks.Worker(bench.app, threads=0)


def test_times_and_priorities_beyond_all_bounds_are_refused_where_they_are_said(bench, add):
    for options in ({"priority": 1 << 63}, {"eta": float("inf")}, {"countdown": float("nan")}):
        with pytest.raises(ValueError, match="of 'add' is"):
            add.send([1], **options)
        with pytest.raises(ValueError, match="of 'add' is"):
            tasks.Chain(add.s(1), add.s(2).set(**options)).send()
    with pytest.raises(ValueError, match="every inf s"):
        add.every(float("inf"))
    assert bench.app.broker.sizes() == (0, 0, 0)
    for told in (
        '"eta":NaN',
        '"priority":9223372036854775808',
        '"priority":0.5',
        '"period":["p",1,0.0]',
        '"period":["p",1,Infinity]',
    ):
        with pytest.raises(ValueError):
            calls.read_call('{"id":1,"name":"add",%s}' % told)


def test_a_broker_that_is_not_there_is_told_in_time():
    app = tasks.App("grpc://127.0.0.1:1", patience=0.2)
    with pytest.raises(tasks.BrokerLost, match="127.0.0.1:1"):
        app.send("add", [1, 2])


# ---- Again ---------------------------------------------------------------------------------------


def test_an_error_is_tried_again_up_to_a_limit(bench):
    seen = []

    @bench.app.task(name="fails", retries=2, pause=0.0)
    def fails(times):
        seen.append(tasks.current().retries)
        if len(seen) <= times:
            raise OSError("not yet")
        return "done"

    bench.start()
    assert fails.delay(2).get(WAIT) == "done"
    assert seen == [0, 1, 2]
    seen.clear()
    assert ended(fails.delay(3)).message == "OSError: not yet"
    assert seen == [0, 1, 2]


def test_a_retry_waits_for_its_time(bench, add):
    @bench.app.task(name="later", retries=1, retry_on=())
    def later():
        if tasks.current().retries == 0:
            raise tasks.Retry("busy", after=50.0)
        return tasks.current().retries

    bench.start()
    result = later.delay()
    while result.state != "RETRY":
        assert add.delay(1, 1).get(WAIT) == 2  # one after the other, by one worker
    bench.clock.now += 100.0
    assert result.get(WAIT) == 1


def test_a_retry_after_a_time_that_never_comes_ends_no_worker(bench, add):
    @bench.app.task(name="again", retries=1, retry_on=())
    def again(after):
        raise tasks.Retry("busy", after=after)

    bench.start()
    result, wrong = again.delay(float("inf")), again.delay(float("nan"))
    assert ended(wrong).message.startswith("ValueError: after is nan")
    assert add.delay(1, 1).get(WAIT) == 2
    assert result.state == "RETRY"


def test_errors_that_are_not_named_are_not_tried_again(bench):
    seen = []

    @bench.app.task(name="fails", retries=5, retry_on=OSError)
    def fails():
        seen.append(1)
        raise KeyError("no")

    bench.start()
    assert ended(fails.delay()).message == "KeyError: 'no'"
    assert len(seen) == 1


def test_pauses_grow_up_to_the_longest():
    pauses = [verdicts.pause_before(n, 1.0, 60.0, call_id=5) for n in range(100)]
    for n in range(6):
        assert 2.0**n <= pauses[n] < 1.2 * 2.0**n
    assert all(60.0 <= pause < 72.0 for pause in pauses[6:])


def seat_of(bench):
    """One of another worker's, which the test plays."""
    seat = Seat(bench.app.broker, bench.app.broker.steps.calls, "")
    assert seat.connect()
    return seat


def settle_and_die(bench, loan, settlement):
    """All that settles a call is done under its lease, but it is not acknowledged, and comes back."""
    steps = bench.app.broker.steps
    settle = Step((steps.settle, steps.under), (steps.lease, *steps.whole))
    fed = fed_plain(settlement), fed_lists(settlement)
    connection = bench.app.broker.connect(WAIT)
    connection.run(settle, loan.lease, *fed[0], *fed[1])
    connection.run(steps.calls.give_back, loan.lease)
    connection.close()


def test_a_call_that_was_lent_too_often_is_not_run_any_more(bench, add):
    result = add.delay(1, 2)
    seat = seat_of(bench)
    for _ in range(3):
        seat.give_back(seat.take())
    bench.start()
    error = ended(result)
    assert error.state == "DEAD" and "3 workers that had it died" in error.message


def test_a_call_that_ended_without_being_acknowledged_is_not_run_again(bench, add):
    seen = []
    seen_task = bench.app.task(seen.append, name="seen")
    result = seen_task.delay(1)
    loan = seat_of(bench).take()
    settle_and_die(bench, loan, verdicts.succeeded(calls.read_call(loan.text), "first", 1.0, "w"))
    bench.start()
    assert add.delay(1, 1).get(WAIT) == 2  # what came behind it is done
    assert (result.get(WAIT), seen) == ("first", [])


def test_of_two_attempts_at_once_the_first_result_stays_and_one_call_follows(bench, add):
    got = queue.Queue()
    bench.app.task(got.put, name="got")
    result = tasks.Chain(add.s(1, 2), tasks.Signature(bench.app, "got")).send()
    seats = [seat_of(bench) for _ in range(2)]
    straggler = seats[0].take()
    call = calls.read_call(straggler.text)
    seats[0].close()  # it was cut off, and goes on
    second = seats[1].take()
    assert second.attempt == 2
    for loan, value in ((straggler, 3), (second, 4)):
        settle_and_die(bench, loan, verdicts.succeeded(call, value, 1.0, "w"))
    assert bench.app.broker.sizes()[0] == 2  # what follows, and what was not acknowledged
    bench.start()
    result.get(WAIT)
    assert got.get(timeout=WAIT) == 3
    assert add.delay(1, 1).get(WAIT) == 2
    assert got.empty()


def test_a_worker_that_stops_gives_back_what_takes_too_long(bench):
    begun, go = threading.Event(), threading.Event()

    @bench.app.task(name="hold")
    def hold():
        attempt = tasks.current().attempt
        begun.set()
        assert attempt > 1 or go.wait(WAIT)
        return attempt

    worker = bench.start(grace=0.0)
    result = hold.delay()
    assert begun.wait(WAIT)
    worker.stop()
    worker.join()
    bench.start()
    assert result.get(WAIT) == 2
    go.set()


# ---- What is trusted -----------------------------------------------------------------------------


def test_pickles_are_read_only_by_who_wants_them(bench):
    trusting = bench.another_app(pickles=True)
    bench.app.task(lambda given: given, name="same")
    trusting.tasks.update(bench.app.tasks)
    bench.start()
    assert "came as a pickle" in ended(trusting.send("same", [{1, 2}])).message
    bench.stop()
    bench.start(trusting)
    assert trusting.send("same", [{1, 2}]).get(WAIT) == {1, 2}


def test_code_is_run_only_by_who_wants_it(bench):
    def cube(x, *, of=3):
        import math

        return math.pow(x, of)

    assert "was not made with runs_code=True" in _sent_code(bench, bench.app, cube)
    bench.stop()
    trusting = bench.another_app(runs_code=True)
    bench.start(trusting)
    assert bench.app.send_code(cube, [2]).get(WAIT) == 8.0
    with pytest.raises(TypeError, match="uses bench of the function around it"):
        bench.app.send_code(lambda: bench)


def _sent_code(bench, app, function):
    bench.start(app)
    return ended(app.send_code(function, [2])).message


# ---- What is kept --------------------------------------------------------------------------------


def test_results_are_kept_for_a_time_or_until_they_are_forgotten(bench, add):
    bench.start()
    first = add.delay(1)
    first.get(WAIT)
    bench.clock.now += 100
    second, waiting = add.delay(2), add.send([3], countdown=1000)
    second.get(WAIT)
    assert drop_old(bench.app.broker, before=bench.clock.now - 50) == 1
    assert [each.state for each in (first, second, waiting)] == ["UNKNOWN", "SUCCESS", "WAITING"]
    second.forget()
    assert second.state == "UNKNOWN"
    with pytest.raises(ValueError, match="is WAITING: revoke it"):
        waiting.forget()


def test_what_is_revoked_too_late_is_not_kept_for_ever(bench, add):
    bench.start()
    done, waiting = add.delay(1), add.send([3], countdown=1000)
    done.get(WAIT)
    done.forget()
    done.revoke()
    waiting.revoke()
    assert drop_old(bench.app.broker, before=0) == 0
    _, _, revoked = bench.app.broker.list()
    assert revoked == {calls.read_id(waiting.id)}


def test_the_command_says_what_is_wrong_with_its_words(capsys, monkeypatch):
    monkeypatch.delenv("MILLRACE_TASKS_BROKER", raising=False)
    for words in ([], ["ls"], ["work"], ["ls", "--state", "NONE"]):
        with pytest.raises(SystemExit) as left:
            tasks.main(words)
        assert left.value.code == 2
    assert tasks.main(["work", "no_such_module:app"]) == 2
    assert tasks.main(["work", "json:app"]) == 2
    assert tasks.main(["ls", "--broker", "127.0.0.1:1", "--patience", "0.2"]) == 1
    assert "gave no answer" in capsys.readouterr().err
    with pytest.raises(SystemExit) as left:
        tasks.main(["--help"])
    assert left.value.code == 0

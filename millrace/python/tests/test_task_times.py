"""When calls of millrace.tasks are run: priorities, etas, periods, rates, limits; and calls that belong together."""

import contextlib
import queue
import threading
import time

import pytest

from millrace import tasks
from millrace._tasks import verdicts
from millrace._tasks.running import TimeLimits
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


# ---- When ----------------------------------------------------------------------------------------


def test_the_more_important_goes_first_and_equals_in_order(bench):
    seen = []
    note = bench.app.task(seen.append, name="note", priority=5)
    sent = [note.send([each], priority=p) for each, p in [("a", 0), ("b", 9), ("c", 0)]]
    sent.append(note.send(["d"]))
    bench.start()
    for each in sent:
        each.get(WAIT)
    assert seen == ["b", "d", "a", "c"]


def test_what_waited_too_long_is_not_begun(bench, add):
    late, in_time = add.send([1], expires=5), add.send([1], expires=50)
    bench.clock.now += 10
    bench.start()
    assert ended(late).state == "EXPIRED"
    assert in_time.get(WAIT) == 1


def test_a_call_waits_for_its_eta(bench, add):
    bench.start()
    result, sooner = add.send([1], countdown=100), add.send([2], eta=bench.clock.now + 50)
    assert add.delay(3).get(WAIT) == 3
    assert (result.state, sooner.state) == ("WAITING", "WAITING")
    bench.clock.now += 50
    assert sooner.get(WAIT) == 2
    assert result.state == "WAITING"
    bench.clock.now += 50
    assert result.get(WAIT) == 1


def test_what_is_repeated_comes_once_for_each_time_and_leaves_out_what_was_missed(bench):
    seen = queue.Queue()
    note = bench.app.task(lambda what: seen.put((what, bench.clock.now)), name="note")
    for _ in range(2):
        bench.start()
    note.every(1000, ["old"])
    note.every(10, ["tick"])  # in its place
    bench.clock.now += 10
    assert seen.get(timeout=WAIT) == ("tick", 1010.0)
    bench.clock.now += 37
    assert seen.get(timeout=WAIT) == ("tick", 1047.0)
    note.send(["mark"], eta=1049.5)  # later than what was missed
    bench.clock.now += 3
    came = [seen.get(timeout=WAIT)[0] for _ in range(2)]
    assert sorted(came) == ["mark", "tick"]
    bench.app.end_period("note")
    note.send(["end"], eta=2010.0)
    bench.clock.now = 3000.0
    assert seen.get(timeout=WAIT)[0] == "end"


def test_a_rate_puts_off_what_comes_too_soon(bench, add):
    seen = queue.Queue()
    note = bench.app.task(seen.put, name="note", rate="1/s")
    bench.start()
    sent = [note.delay(i) for i in range(3)]
    assert sent[0].get(WAIT) is None
    assert add.delay(1).get(WAIT) == 1  # others are not held up, and it comes behind all three
    assert [each.state for each in sent] == ["SUCCESS", "WAITING", "WAITING"]
    bench.clock.now += 1.0
    assert sent[1].get(WAIT) is None
    assert sent[2].state == "WAITING"
    bench.clock.now += 1.0
    assert sent[2].get(WAIT) is None


def test_rates_are_read_in_all_their_forms():
    assert [verdicts.read_rate(rate) for rate in (None, "10/s", "6/m", 4)] == [0.0, 0.1, 10.0, 0.25]
    rate = verdicts.Rate(2.0)
    assert [rate.moment(now) for now in (5.0, 5.0, 6.0, 20.0)] == [5.0, 7.0, 9.0, 20.0]


def test_what_is_revoked_is_not_begun_and_what_runs_can_ask(bench, add):
    begun, go = threading.Event(), threading.Event()

    @bench.app.task(name="ask")
    def ask():
        begun.set()
        assert go.wait(WAIT)
        return tasks.current().is_revoked()

    revoked = add.delay(1)
    revoked.revoke()
    assert revoked.state == "REVOKED"
    bench.start()
    assert ended(revoked).state == "REVOKED"
    result = ask.delay()
    assert begun.wait(WAIT)
    assert result.state == "STARTED"
    result.revoke()
    go.set()
    assert result.get(WAIT) is True


def test_what_runs_for_too_long_is_ended_and_may_clean_up(bench, add):
    seen = []

    @bench.app.task(name="forever", time_limit=0.05)
    def forever():
        try:
            while True:
                pass
        finally:
            seen.append("cleaned up")

    bench.start()
    assert "TimeLimitExceeded: it ran for more than 0.05 s" in ended(forever.delay()).message
    assert seen == ["cleaned up"]
    assert add.delay(1).get(WAIT) == 1


def test_calls_that_end_just_at_their_limit_hold_nobody_up():
    limits, seconds = TimeLimits(), 0.001

    def work():
        for _ in range(200):
            end = time.monotonic() + seconds
            with contextlib.suppress(tasks.TimeLimitExceeded):
                limits.run(seconds, lambda: all(iter(lambda: time.monotonic() < end, False)))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()


# ---- Together ------------------------------------------------------------------------------------


def test_a_chain_hands_values_on(bench, add):
    bench.start()
    assert tasks.Chain(add.s(1, 2), add.s(10), add.s(y=100)).send().get(WAIT) == 113
    assert tasks.Chain(add.s(1, 2), add.si(5, 6)).send().get(WAIT) == 11


def test_a_link_that_fails_ends_those_behind_it(bench, add):
    bench.start()
    error = ended(tasks.Chain(add.s(1, "a"), add.s(1), add.s(2)).send())
    assert error.state == "FAILURE" and "of 'add' before it: TypeError" in error.message


def test_a_group_gives_its_values_in_order(bench, add):
    bench.start(threads=2)
    group = tasks.Group(add.s(i, i) for i in range(20)).send()
    assert group.get(WAIT) == [2 * i for i in range(20)]
    assert group.is_ready()
    group.forget()
    assert group.results[0].state == "UNKNOWN"


def test_a_chord_gives_all_values_to_its_last_call(bench, add):
    total = bench.app.task(sum, name="sum")
    bench.start()
    group = [add.s(1, 2), tasks.Chain(add.s(3, 4), add.s(5))]
    chord = tasks.Chord(group, total.s()).send()
    # Its clock stands still; each look puts the next one off.
    while not chord.is_ready():
        bench.clock.now += 1.0
        add.delay(1).get(WAIT)
    assert chord.get(WAIT) == 15
    failing = tasks.Chord([add.s(1), add.s("a", 1)], total.s()).send()
    while not failing.is_ready():
        bench.clock.now += 1.0
        add.delay(1).get(WAIT)
    assert "whose value it needs: TypeError" in ended(failing).message


def test_a_chord_with_a_value_that_is_gone_ends_and_says_so(bench, add):
    def gone(number):
        raise tasks.NoResult

    last = add.s().call().but(gathers=[7])
    settled = verdicts.gathered(last, [{"state": "SUCCESS"}], gone, now=1.0)
    assert "0000000000000007, whose value it needs: it was forgotten" in settled.waiting[0].cause


def test_nothing_together_is_refused():
    for kind in (tasks.Chain, tasks.Group):
        with pytest.raises(ValueError, match="no calls"):
            kind()

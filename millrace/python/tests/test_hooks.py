import json
import logging

import numpy as np
import pytest

import millrace as tf
from millrace._summaries.file_writer import FileWriterCache
from millrace._supervised import events
from millrace._train.global_steps import get_or_create_global_step_read


@pytest.fixture
def step():
    """Counts the global step up, after hooks have read it: what they see is always the old one."""
    counter = tf.train.get_or_create_global_step()
    with tf.control_dependencies([get_or_create_global_step_read()]):
        return tf.assign_add(counter, 1)


@pytest.fixture
def said(caplog):
    """said() -> the lines that were logged."""
    caplog.set_level(logging.INFO, "millrace")
    return lambda: [record.getMessage() for record in caplog.records]


def run(fetches, hooks, steps=None):
    """The values of steps in a session with these hooks, until it should stop or so many."""
    values = []
    with tf.train.MonitoredSession(hooks=hooks) as session:
        while not session.should_stop() and len(values) != steps:
            values.append(session.run(fetches))
    return values


# ---- Timers --------------------------------------------------------------------------------------


def test_a_timer_of_steps():
    timer = tf.train.SecondOrStepTimer(every_steps=3)
    assert timer.should_trigger_for_step(5)
    assert timer.update_last_triggered_step(5) == (None, None)
    assert [timer.should_trigger_for_step(step) for step in (5, 6, 7, 8)] == [
        False,
        False,
        False,
        True,
    ]
    assert timer.last_triggered_step() == 5
    assert timer.update_last_triggered_step(9)[1] == 4
    timer.reset()
    assert timer.should_trigger_for_step(9)


def test_a_timer_of_seconds():
    now = [100.0]
    timer = tf.train.SecondOrStepTimer(every_secs=2.0, clock=lambda: now[0])
    timer.update_last_triggered_step(1)
    now[0] = 101.9
    assert not timer.should_trigger_for_step(2)
    now[0] = 102.0
    assert timer.should_trigger_for_step(2) and not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(2) == (2.0, 1)


def test_a_timer_is_of_one_kind():
    for kwargs in ({}, {"every_secs": 1, "every_steps": 1}):
        with pytest.raises(ValueError):
            tf.train.SecondOrStepTimer(**kwargs)


# ---- Steps ---------------------------------------------------------------------------------------


def test_training_stops_at_a_step(step):
    assert run(step, [tf.train.StopAtStepHook(last_step=3)]) == [1, 2, 3]
    assert run(step, [tf.train.StopAtStepHook(num_steps=2)]) == [1, 2]
    for kwargs in ({}, {"num_steps": 1, "last_step": 1}):
        with pytest.raises(ValueError):
            tf.train.StopAtStepHook(**kwargs)


def test_steps_are_counted_per_second(step, said):
    run(step, [tf.train.StepCounterHook(every_n_steps=3)], steps=10)
    assert len([line for line in said() if line.startswith("global_step/sec: ")]) == 3


def test_a_global_step_that_does_not_grow_is_told_five_times(said):
    tf.train.get_or_create_global_step()
    run(tf.no_op(), [tf.train.StepCounterHook()], steps=10)
    assert len([line for line in said() if "has not been increased" in line]) == 5


class Writer:
    """What hooks ask of a writer of events."""

    def __init__(self):
        self.written = []

    def add_summary(self, summary, step):
        self.written.append((summary, step))

    def add_graph(self, graph):
        self.written.append("graph")

    def add_meta_graph(self, meta_graph_def):
        self.written.append("meta graph")

    def add_session_log(self, log, step=None):
        self.written.append(("log", step))

    def flush(self):
        self.written.append("flush")


@pytest.mark.parametrize(
    "hook",
    [
        tf.train.StopAtStepHook(num_steps=1),
        tf.train.StepCounterHook(),
        tf.train.GlobalStepWaiterHook(1),
        tf.train.ProfilerHook(save_steps=1),
        tf.train.SummarySaverHook(save_steps=1, summary_op="s"),
    ],
)
def test_hooks_of_steps_need_a_global_step(hook):
    with pytest.raises(RuntimeError, match=f"created to use {type(hook).__name__}"):
        hook.begin()


def test_a_worker_waits_for_the_others(step):
    """Others bring the step on while it looks."""
    looks = tf.Variable(0)
    hook = tf.train.GlobalStepWaiterHook(3, poll_secs=0)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        raw = []
        session.run_step_fn(lambda step_context: raw.append(step_context.session))

        class Watched:
            """The session as the hook sees it: each look is followed by a step of another worker."""

            def run(self, fetches):
                seen.append(raw[0].run(fetches))
                raw[0].run(step)
                return seen[-1]

        seen = []
        hook.before_run(tf.train.SessionRunContext(None, Watched()))
        assert seen == [0, 1, 2, 3]
        assert session.run(looks) == 0
    assert seen == [0, 1, 2, 3]  # once it has started it looks no more


# ---- Values --------------------------------------------------------------------------------------


def test_values_are_logged(step, said):
    value = tf.identity(step * 10, name="value")
    run(step, [tf.train.LoggingTensorHook({"v": value, "a": "value:0"}, every_n_iter=2)], steps=4)
    lines = [line for line in said() if line.startswith("a = ")]
    assert lines[0] == "a = 10, v = 10" and lines[1].startswith("a = 30, v = 30 (")


def test_values_are_logged_at_the_end_and_in_ones_own_words(said):
    tf.constant([1.5], name="c")
    run(tf.no_op(), [tf.train.LoggingTensorHook(["c"], at_end=True)], steps=3)
    assert "c = [1.5]" in said()
    run(
        tf.no_op(),
        [
            tf.train.LoggingTensorHook(
                ["c"], every_n_iter=9, formatter=lambda v: f"<{v['c'][0]}> %d"
            )
        ],
        steps=1,
    )
    assert "<1.5> %d" in said()


def test_what_can_not_be_logged_is_refused():
    for kwargs in ({}, {"every_n_iter": 1, "every_n_secs": 1}):
        with pytest.raises(ValueError, match="either at_end"):
            tf.train.LoggingTensorHook(["x"], **kwargs)
    with pytest.raises(ValueError, match="invalid every_n_iter=0"):
        tf.train.LoggingTensorHook(["x"], every_n_iter=0)
    tf.unstack(tf.constant([1, 2]), name="two")
    with pytest.raises(ValueError, match="ambiguous"):
        tf.train.LoggingTensorHook(["two"], every_n_iter=1).begin()
    with tf.Graph().as_default():
        other = tf.constant(1)
    with pytest.raises(ValueError, match="current graph"):
        tf.train.LoggingTensorHook([other], every_n_iter=1).begin()


def test_nan_ends_training(step, said):
    loss = tf.constant([1.0, np.nan])[tf.cast(step, tf.int32) - 1]
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        run(loss, [tf.train.NanTensorHook(loss)])
    values = run(loss, [tf.train.NanTensorHook(loss, fail_on_nan_loss=False)])
    assert len(values) == 2 and "Model diverged with loss = NaN." in said()


def test_something_runs_at_the_end(step):
    x = tf.placeholder(tf.int64, [])
    hook = tf.train.FinalOpsHook({"sum": tf.train.get_global_step() + x}, {x: 100})
    assert hook.final_ops_values is None
    run(step, [hook], steps=3)
    assert hook.final_ops_values == {"sum": 103}
    nothing = tf.train.FinalOpsHook(None)
    run(step, [nothing], steps=1)
    assert nothing.final_ops_values is None


def test_what_runs_at_the_end_must_not_need_the_input(said):
    limited = tf.train.limit_epochs(tf.constant(1), 1)
    with pytest.raises(tf.errors.OutOfRangeError):
        run(limited, [tf.train.FinalOpsHook(limited)], steps=1)
    assert any("takes from the input" in line for line in said())


def test_each_step_is_fed_by_a_function():
    x = tf.placeholder(tf.float32, [])
    numbers = iter([1.0, 2.0])
    assert run(x * 2, [tf.train.FeedFnHook(lambda: {x: next(numbers)})], steps=2) == [2.0, 4.0]


# ---- Files ---------------------------------------------------------------------------------------


def test_summaries_are_written_every_so_many_steps(step, monkeypatch):
    monkeypatch.setattr(events, "session_log", lambda status, path=None: status)
    with tf.control_dependencies([step]):
        summary = tf.constant("a summary")
    writer = Writer()
    hook = tf.train.SummarySaverHook(save_steps=4, summary_writer=writer, summary_op=summary)
    run([step, summary], [hook], steps=9)
    assert writer.written[0] == ("log", 1) and writer.written[-1] == "flush"
    assert writer.written[1:-1] == [(b"a summary", 1), (b"a summary", 5), (b"a summary", 9)]
    for kwargs in ({}, {"scaffold": tf.train.Scaffold(), "summary_op": summary}):
        with pytest.raises(ValueError, match="Exactly one"):
            tf.train.SummarySaverHook(save_steps=1, **kwargs)


class Saver:
    """What hooks ask of a Saver."""

    saver_def = None

    def __init__(self):
        self.saved = []

    def build(self):
        pass

    def save(self, session, path, global_step, write_meta_graph):
        assert session.run(tf.train.get_global_step()) == global_step
        self.saved.append((path, int(global_step), write_meta_graph))


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self, stop_at=None):
        self.calls, self._stop_at = [], stop_at

    def begin(self):
        self.calls.append("begin")

    def before_save(self, session, global_step_value):
        self.calls.append(("before", int(global_step_value)))

    def after_save(self, session, global_step_value):
        self.calls.append(("after", int(global_step_value)))
        return global_step_value == self._stop_at

    def end(self, session, global_step_value):
        self.calls.append(("end", int(global_step_value)))


def test_checkpoints_are_saved_at_the_start_now_and_then_and_at_the_end(step, tmp_path):
    saver, listener = Saver(), Listener()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, saver=saver, listeners=[listener]
    )
    run(step, [hook], steps=5)
    path = str(tmp_path / "model.ckpt")
    assert [(p, s) for p, s, _ in saver.saved] == [(path, s) for s in (0, 2, 4, 5)]
    assert listener.calls[0] == "begin" and listener.calls[-1] == ("end", 5)
    assert listener.calls[1:3] == [("before", 0), ("after", 0)]
    assert "global_step" in (tmp_path / "graph.pbtxt").read_text()


def test_what_is_saved_is_told_to_the_writer_of_the_folder(step, tmp_path, monkeypatch):
    writer = Writer()
    monkeypatch.setattr(FileWriterCache, "get", lambda folder: writer)
    monkeypatch.setattr(events, "session_log", lambda status, path: (status, path))
    run(step, [tf.train.CheckpointSaverHook(str(tmp_path), save_steps=9, saver=Saver())], steps=1)
    assert writer.written == ["graph", "meta graph", ("log", 0), ("log", 1), "flush"]


def test_a_listener_may_end_training(step, tmp_path):
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path),
        save_steps=2,
        saver=Saver(),
        listeners=[Listener(stop_at=4)],
        save_graph_def=False,
    )
    assert run(step, [hook]) == [1, 2, 3, 4]
    assert not (tmp_path / "graph.pbtxt").exists()


def test_a_checkpoint_hook_finds_its_saver(step, tmp_path):
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=9)
    scaffold = tf.train.Scaffold(saver=Saver())
    creator = tf.train.ChiefSessionCreator(scaffold)
    with pytest.raises(RuntimeError, match="No items in collection savers"):
        tf.train.MonitoredSession(creator, hooks=[hook])
    saver = Saver()
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    tf.train.MonitoredSession(creator, hooks=[hook]).close()
    assert [s for _, s, _ in saver.saved] == [0]
    with pytest.raises(ValueError, match="both saver and scaffold"):
        tf.train.CheckpointSaverHook("x", save_steps=1, saver=saver, scaffold=scaffold)


def test_steps_are_profiled_now_and_then(step, tmp_path):
    run(step, [tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))], steps=6)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files and all(name.startswith("timeline-") for name in files)
    events = json.loads((tmp_path / files[0]).read_text())["traceEvents"]
    assert any(event.get("args", {}).get("op") == "AssignAdd" for event in events)
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook


def test_a_graph_is_written_as_text_or_bytes(tmp_path):
    tf.constant([1.5, 0.1], name="c")
    path = tf.train.write_graph(tf.get_default_graph(), str(tmp_path / "new"), "g.pbtxt")
    text = (tmp_path / "new" / "g.pbtxt").read_text()
    assert path == str(tmp_path / "new" / "g.pbtxt")
    assert text.startswith(
        'node {\n  name: "c"\n  op: "Const"\n  attr {\n    key: "dtype"\n    value {\n'
    )
    assert "      type: DT_FLOAT\n" in text and "versions {\n" in text
    tf.train.write_graph(
        tf.get_default_graph().as_graph_def(), str(tmp_path), "g.pb", as_text=False
    )
    data = (tmp_path / "g.pb").read_bytes()
    assert tf.GraphDef.FromString(data) == tf.get_default_graph().as_graph_def()

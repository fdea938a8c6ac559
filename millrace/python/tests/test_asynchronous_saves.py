import os
import shutil
import threading

import pytest

import millrace as tf


class SlowSaver(tf.train.Saver):
    """Writes nothing before its gate is open."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, asynchronous=True, **kwargs)
        self.gate = threading.Event()

    def _save_values(self, *args):
        assert self.gate.wait(60)
        return super()._save_values(*args)


@pytest.fixture(params=[False, True], ids=["reference", "resource"])
def counter(request):
    return tf.get_variable(
        "counter", shape=[2], initializer=tf.zeros_initializer(), use_resource=request.param
    )


def replace_by_file(folder):
    shutil.rmtree(folder)
    folder.write_text("no folder")


def initialized():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


@pytest.mark.parametrize(
    "how",
    [{}, {"sharded": True}, {"saving_device": "/device:CPU:0"}],
    ids=["one", "sharded", "sent"],
)
def test_what_is_saved_are_the_values_of_the_moment_though_steps_go_on(tmp_path, counter, how):
    other = tf.get_variable("other", initializer=3)
    change = [tf.assign_add(counter, [1.0, 2.0]), tf.assign(other, 4)]
    saver = SlowSaver(**how)
    with initialized() as session:
        session.run(change)
        path = saver.save(session, str(tmp_path / "model"), global_step=1)
        session.run(change)
        assert saver.is_saving and tf.train.latest_checkpoint(str(tmp_path)) is None
        saver.gate.set()
        saver.wait()
        assert not saver.is_saving and tf.train.latest_checkpoint(str(tmp_path)) == path
        saver.restore(session, path)
        assert session.run(counter).tolist() == [1, 2] and session.run(other) == 4
        # What one save has taken is not what the next one writes.
        session.run(change)
        newer = saver.save(session, str(tmp_path / "model"), global_step=2)
        session.run(change)
        saver.wait()
        saver.restore(session, newer)
        assert session.run(counter).tolist() == [2, 4]


def test_values_that_were_taken_and_never_written_are_dropped_by_the_next_save(tmp_path, counter):
    saver = tf.train.Saver(asynchronous=True)
    with initialized() as session:
        taking, _ = saver._held_nodes
        session.run(taking.removesuffix(":0"))  # as of a program that ended then
        session.run(tf.assign(counter, [5.0, 6.0]))
        path = saver.save(session, str(tmp_path / "model"))
        saver.wait()
        session.run(tf.assign(counter, [7.0, 8.0]))
        saver.restore(session, path)
        assert session.run(counter).tolist() == [5, 6]


def test_an_error_of_a_save_is_logged_and_raised_once_by_the_next(tmp_path, counter, caplog):
    folder = tmp_path / "gone"
    folder.mkdir()
    saver = SlowSaver()
    with initialized() as session:
        saver.save(session, str(folder / "model"), global_step=1)
        replace_by_file(folder)
        saver.gate.set()
        with pytest.raises(ValueError, match="Parent directory of .* doesn't exist"):
            saver.save(session, str(tmp_path / "model"), global_step=2)
        assert f"checkpoint {folder}/model-1 was not saved: Parent directory" in caplog.text
        assert saver.save(session, str(tmp_path / "model"), global_step=3)
        saver.wait()
        with pytest.raises(ValueError, match="Parent directory"):
            saver.save(session, str(folder / "model"))
    assert saver.last_checkpoints == [str(tmp_path / "model-3")]


def test_old_checkpoints_go_when_new_ones_are_written(tmp_path, counter):
    saver = tf.train.Saver(asynchronous=True, max_to_keep=2)
    with initialized() as session:
        for step in range(4):
            saver.save(session, str(tmp_path / "model"), global_step=step)
        saver.wait()
    names = {name.split(".")[0] for name in os.listdir(tmp_path)}
    assert names == {"checkpoint", "model-2", "model-3"}


def test_what_an_asynchronous_saver_cannot_be_is_said(counter):
    with pytest.raises(ValueError, match="asynchronous=True needs nodes of its own"):
        tf.train.Saver(asynchronous=True, write_version=tf.train.SaverDef.V1)
    saver_def = tf.train.Saver().saver_def
    with pytest.raises(ValueError, match="leave saver_def="):
        tf.train.Saver(asynchronous=True, saver_def=saver_def)


def test_a_plain_saver_has_nothing_to_wait_for(counter):
    saver = tf.train.Saver()
    saver.wait()
    assert not saver.is_saving


class Listener(tf.train.CheckpointSaverListener):
    def __init__(self):
        self.told = []

    def before_save(self, session, global_step_value):
        self.told.append(("before", int(global_step_value)))

    def after_save(self, session, global_step_value):
        self.told.append(("after", int(global_step_value)))


def test_training_goes_on_while_a_checkpoint_is_written(tmp_path, counter):
    step = tf.train.get_or_create_global_step()
    train = tf.group(tf.assign_add(step, 1), tf.assign_add(counter, [1.0, 1.0]))
    saver, listener = SlowSaver(), Listener()
    hook = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=100, saver=saver, listeners=[listener]
    )
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            session.run(train)
        assert saver.is_saving and listener.told == [("before", 0)]
        saver.gate.set()
    # At the end, what has begun is finished, and what has come since is saved.
    assert listener.told == [("before", 0), ("after", 0), ("before", 3), ("after", 3)]
    reader = tf.train.NewCheckpointReader(tf.train.latest_checkpoint(str(tmp_path)))
    assert reader.get_tensor("counter").tolist() == [3, 3]
    first = tf.train.NewCheckpointReader(str(tmp_path / "model.ckpt-0"))
    assert first.get_tensor("counter").tolist() == [0, 0]


def test_a_save_that_fails_ends_the_training_with_its_cause(tmp_path, counter):
    step = tf.train.get_or_create_global_step()
    train = tf.assign_add(step, 1)
    folder = tmp_path / "model"
    saver = SlowSaver()
    hook = tf.train.CheckpointSaverHook(
        str(folder), save_steps=100, saver=saver, save_graph_def=False
    )
    with pytest.raises(ValueError, match="Parent directory"):
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(train)
            replace_by_file(folder)
            saver.gate.set()
            while True:  # one of the next steps hears of it
                session.run(train)


def test_a_supervisor_waits_for_the_save_that_is_under_way(tmp_path, counter):
    tf.train.get_or_create_global_step()
    saver = SlowSaver()
    supervisor = tf.train.Supervisor(logdir=str(tmp_path), saver=saver, save_model_secs=0)
    with supervisor.managed_session() as session:
        saver.save(session, supervisor.save_path, global_step=7)
        assert saver.is_saving
        threading.Timer(0.2, saver.gate.set).start()
    assert tf.train.latest_checkpoint(str(tmp_path)) == f"{supervisor.save_path}-7"

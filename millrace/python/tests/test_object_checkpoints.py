"""tf.train.Checkpoint and tf.train.CheckpointManager: objects saved by the names of attributes."""

import os

import pytest

import millrace as tf
from millrace._saving.object_graph import Matches
from millrace._saving.object_messages import (
    ObjectReference,
    SerializedTensor,
    SlotVariableReference,
    TrackableObject,
    TrackableObjectGraph,
)


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "ckpt")


class Model:
    """A layer, an optimizer with a slot, and more variables, in a graph of its own."""

    def __init__(self, **more):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.layer = tf.layers.Dense(1)
            self.optimizer = tf.train.AdamOptimizer(0.1)
            loss = tf.reduce_sum(self.layer(tf.constant([[1.0, 2.0]])) ** 2)
            self.step = tf.train.get_or_create_global_step()
            self.train = self.optimizer.minimize(loss, self.step)
            made = {name: make() for name, make in more.items()}
            self.checkpoint = tf.train.Checkpoint(
                layer=self.layer, optimizer=self.optimizer, step=self.step, **made
            )

    def session(self):
        return tf.Session(graph=self.graph)

    def values(self, session):
        variables = [*self.layer.variables, *self.optimizer.variables(), self.step]
        return [value.tolist() for value in session.run(variables)]


def saved(prefix):
    """(the values of a Model, the path of its checkpoint)."""
    model = Model()
    with model.session() as session:
        session.run([v.initializer for v in model.graph.get_collection("variables")])
        session.run(model.train)
        return model.values(session), model.checkpoint.save(prefix, session)


def test_tensors_are_named_after_attributes(prefix):
    _, path = saved(prefix)
    assert path == prefix + "-1" and tf.train.latest_checkpoint(os.path.dirname(prefix)) == path
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    names = [name.removesuffix(end) for name, _ in tf.train.list_variables(path)]
    assert names == sorted(
        [
            "_CHECKPOINTABLE_OBJECT_GRAPH",
            "layer/bias",
            "layer/bias/.OPTIMIZER_SLOT/optimizer/m",
            "layer/bias/.OPTIMIZER_SLOT/optimizer/v",
            "layer/kernel",
            "layer/kernel/.OPTIMIZER_SLOT/optimizer/m",
            "layer/kernel/.OPTIMIZER_SLOT/optimizer/v",
            "optimizer/beta1_power",
            "optimizer/beta2_power",
            "save_counter",
            "step",
        ],
        key=lambda name: name + end,
    )


def test_what_was_saved_comes_back_and_all_of_it_is_used(prefix):
    values, path = saved(prefix)
    model = Model()
    with model.session() as session:
        model.checkpoint.restore(path).assert_consumed().run_restore_ops(session)
        assert model.values(session) == values
        assert session.run(model.checkpoint.save_counter) == 1
        assert model.checkpoint.save(prefix, session) == prefix + "-2"
        nodes = len(model.graph.get_operations())
        model.checkpoint.save(prefix, session)
        model.checkpoint.restore(path).run_restore_ops(session)
        model.checkpoint.restore(path).run_restore_ops(session)
        made_once = len(model.graph.get_operations())
        model.checkpoint.restore(path).run_restore_ops(session)
        assert len(model.graph.get_operations()) == made_once and made_once >= nodes


def test_what_is_not_in_it_is_initialized_and_said(prefix):
    values, path = saved(prefix)
    model = Model(extra=lambda: tf.Variable(7.0, name="extra"))
    with model.session() as session:
        status = model.checkpoint.restore(path)
        with pytest.raises(AssertionError, match="not assigned a value from checkpoint: extra:0"):
            status.assert_consumed()
        status.assert_nontrivial_match().initialize_or_restore(session)
        assert model.values(session) == values
        assert session.run(model.checkpoint.extra) == 7.0


def test_what_is_in_it_alone_is_said(prefix):
    _, path = saved(prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.Variable(0, dtype=tf.int64)
        status = tf.train.Checkpoint(step=step).restore(path)
        with pytest.raises(
            AssertionError, match=r"Unresolved object in checkpoint \(root\)\.layer"
        ):
            status.assert_consumed()
        status.assert_existing_objects_matched().expect_partial().run_restore_ops(session)
        assert session.run(step) == 1


def test_the_way_to_what_is_far_from_the_root_is_told():
    far = 20_000
    nodes = [
        TrackableObject(children=[ObjectReference(node_id=at + 1, local_name="next")])
        for at in range(far)
    ]
    tensor = SerializedTensor(name="VARIABLE_VALUE", checkpoint_key="key")
    nodes += [TrackableObject(attributes=[tensor]), TrackableObject(attributes=[tensor])]
    # One that nothing leads to has a variable that leads back to it.
    nodes[-1].slot_variables.append(SlotVariableReference(slot_variable_node_id=far + 1))
    found = Matches(tf.train.Checkpoint(), tf.Graph(), TrackableObjectGraph(nodes=nodes))
    assert found.unused == [(far, "key"), (far + 1, "key")]
    assert found.way(far) == "(root)" + ".next" * far
    assert found.way(far + 1) == f"object {far + 1}"


def test_objects_set_later_and_in_lists_take_part(prefix, session):
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    inner = tf.train.Checkpoint(a=a)
    root = tf.train.Checkpoint(parts=[inner, {"x.y/z": b}], same=a)
    root.number = 3  # is no variable: left alone
    session.run(tf.global_variables_initializer())
    path = root.write(prefix, session)
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "parts/1/x..y.Sz/.ATTRIBUTES/VARIABLE_VALUE" in names
    assert "same/.ATTRIBUTES/VARIABLE_VALUE" in names and len(names) == 3
    session.run([a.assign(0.0), b.assign(0.0)])
    other = tf.train.Checkpoint()
    status = other.restore(path)
    other.same = a
    status.run_restore_ops(session)
    assert session.run([a, b]) == [1.0, 0.0]
    root.c = tf.Variable(3.0)
    session.run(root.c.initializer)
    assert len(tf.train.list_variables(root.write(prefix, session))) == 4


def test_checkpoints_of_savers_are_restored_by_names(prefix, session):
    a = tf.Variable(5.0, name="a")
    session.run(tf.global_variables_initializer())
    path = tf.train.Saver().save(session, prefix)
    session.run(a.assign(0.0))
    status = tf.train.Checkpoint(other=a).restore(path)
    with pytest.raises(AssertionError, match="name-based"):
        status.assert_consumed()
    status.run_restore_ops(session)
    assert session.run(a) == 5.0


def test_what_cannot_be_is_refused(prefix, session):
    with pytest.raises(ValueError, match="expecting a to be a trackable object"):
        tf.train.Checkpoint(a=3)
    empty = tf.train.Checkpoint()
    with pytest.raises(tf.errors.NotFoundError):
        empty.restore(prefix)
    with pytest.raises(AssertionError, match="nothing is being restored"):
        empty.restore(None).run_restore_ops(session)
    empty.restore(None).initialize_or_restore(session)


def test_a_session_is_needed(prefix):
    with pytest.raises(ValueError, match="no default session"):
        tf.train.Checkpoint().save(prefix)


def test_a_manager_keeps_the_last_ones_and_goes_on(tmp_path, session):
    step = tf.Variable(0, name="step")
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.restore_or_initialize(session) is None and manager.latest_checkpoint is None
    with session.as_default():
        paths = [manager.save() for _ in range(3)]
        assert [os.path.basename(path) for path in paths] == ["ckpt-1", "ckpt-2", "ckpt-3"]
        assert manager.checkpoints == paths[1:] and not tf.train.checkpoint_exists(paths[0])
        assert manager.save(checkpoint_number=9).endswith("ckpt-9")
    session.run(step.assign(5))
    again = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=3)
    assert again.latest_checkpoint.endswith("ckpt-9") and len(again.checkpoints) == 2
    assert again.restore_or_initialize(session).endswith("ckpt-9") and session.run(step) == 0
    with pytest.raises(ValueError, match="positive integer"):
        tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=0)


def test_a_manager_saves_no_more_often_than_it_should(tmp_path, session):
    step = tf.Variable(0, name="step")
    checkpoint = tf.train.Checkpoint(step=step)
    manager = tf.train.CheckpointManager(
        checkpoint, tmp_path, None, step_counter=step, checkpoint_interval=5
    )
    session.run(step.initializer)

    def save_at(number, **kwargs):
        session.run(step.assign(number))
        return manager.save(session=session, **kwargs) is not None

    assert save_at(0) and not save_at(4) and save_at(5)
    assert save_at(6, check_interval=False) and not save_at(6, check_interval=False)

"""slim: training and evaluating in one call, records of files as items; tf.contrib.training."""

import logging

import numpy as np
import pytest

import millrace as tf

slim, training = tf.contrib.slim, tf.contrib.training
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(32, 3).astype(np.float32)
Y = X @ np.float32([[1.0], [-2.0], [0.5]])


def _loss():
    made = slim.fully_connected(tf.constant(X), 1, activation_fn=None, scope="fc")
    slim.losses.mean_squared_error(made, tf.constant(Y))
    return slim.losses.get_total_loss()


# ---- Training ops --------------------------------------------------------------------------------


def test_a_training_op_gives_the_loss_after_its_updates(session):
    count = tf.Variable(0, trainable=False, name="count")
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, count.assign_add(1).op)
    op = slim.learning.create_train_op(_loss(), tf.train.GradientDescentOptimizer(0.1))
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP)[-1] is op
    step = tf.train.get_global_step()
    assert step.op.name == "global_step"
    session.run(tf.global_variables_initializer())
    losses = [session.run(op) for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    assert session.run([count, step]) == [5, 5]


def test_a_training_op_without_a_step_counts_nothing():
    training.create_train_op(_loss(), tf.train.GradientDescentOptimizer(0.1), global_step=None)
    assert tf.train.get_global_step() is None
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == []
    with pytest.raises(ValueError, match="is not trainable"):
        other = tf.Variable(1.0, trainable=False)
        training.create_train_op(
            tf.constant(1.0), tf.train.GradientDescentOptimizer(0.1), variables_to_train=[other]
        )


def test_gradients_are_multiplied_then_clipped(session):
    a, b = tf.Variable([3.0, 4.0], name="a"), tf.Variable([1.0], name="b")
    loss = tf.reduce_sum(a * [3.0, 4.0]) + tf.reduce_sum(b * 2.0)
    op = slim.learning.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(1.0),
        gradient_multipliers={"b": 0.25, a: 2.0},
        clip_gradient_norm=1.0,
        summarize_gradients=True,
    )
    session.run(tf.global_variables_initializer())
    session.run(op)
    np.testing.assert_allclose(session.run(a), [3 - 0.6, 4 - 0.8], rtol=1e-5)
    np.testing.assert_allclose(session.run(b), [0.5], rtol=1e-6)
    names = [each.op.name for each in tf.get_collection(tf.GraphKeys.SUMMARIES)]
    assert len(names) == 4 and "summarize_grads/a_gradient" in names
    for bad, said in (([], "must be a dict|is empty"), ({"a": 2.0}, "None")):
        with pytest.raises(ValueError, match=said):
            training.multiply_gradients([(None, a)], bad)


def test_a_loss_that_is_no_number_fails_the_step(session):
    v = tf.Variable(0.0)
    op = training.create_train_op(tf.log(v - 1.0), tf.train.GradientDescentOptimizer(1.0))
    session.run(tf.global_variables_initializer())
    with pytest.raises(tf.errors.InvalidArgumentError, match="LossTensor is inf or nan"):
        session.run(op)


# ---- Training in one call ------------------------------------------------------------------------


def test_slim_trains_saves_and_goes_on(tmp_path, caplog):
    folder = str(tmp_path)
    caplog.set_level(logging.INFO, "millrace")
    for steps in (4, 6):
        with tf.Graph().as_default():
            op = slim.learning.create_train_op(_loss(), tf.train.GradientDescentOptimizer(0.1))
            loss = slim.learning.train(
                op, folder, number_of_steps=steps, log_every_n_steps=2, trace_every_n_steps=3
            )
            assert np.isfinite(loss)
        assert tf.train.latest_checkpoint(folder).endswith(f"model.ckpt-{steps}")
    told = [line.message for line in caplog.records if "global step" in line.message]
    assert any(line.startswith("global step 4: loss = ") for line in told)
    assert list(tmp_path.glob("tf_trace-*.json"))


def test_slim_calls_the_step_of_the_program_and_ends_with_the_input():
    numbers = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
    op = tf.cast(numbers, tf.float32) + 0.0
    seen = []

    def step(session, train_op, global_step, kwargs):
        assert kwargs == {"mine": 1}
        seen.append(session.run(train_op))
        return seen[-1], False

    last = slim.learning.train(
        op, None, step, {"mine": 1}, summary_writer=None, init_fn=lambda session: seen.append(-1)
    )
    assert seen == [-1, 0, 1, 2, 0, 1, 2] and last == 2


@pytest.mark.parametrize(
    "kwargs, said",
    [
        ({"train_op": None}, "train_op cannot be None"),
        ({"number_of_steps": 0}, "number_of_steps"),
        ({"trace_every_n_steps": 1}, "trace_every_n_steps because logdir=None"),
    ],
)
def test_trainings_that_cannot_be_are_refused(kwargs, said):
    with pytest.raises(ValueError, match=said):
        slim.learning.train(**{"train_op": tf.constant(1.0), "logdir": None, **kwargs})


def test_a_monitored_training_is_one_call(tmp_path):
    op = training.create_train_op(_loss(), tf.train.GradientDescentOptimizer(0.1))
    stop = tf.train.StopAtStepHook(num_steps=3)
    assert np.isfinite(training.train(op, str(tmp_path), hooks=[stop]))
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-3")
    with pytest.raises(ValueError, match="logdir cannot be None"):
        training.train(op, None)


# ---- Evaluation ----------------------------------------------------------------------------------


def _saved(folder):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.create_global_step()
        tf.get_variable("v", initializer=7.0)
        session.run(tf.global_variables_initializer())
        return tf.train.Saver().save(session, str(folder / "model.ckpt"), global_step=0)


def test_slim_evaluates_a_checkpoint_on_so_many_batches(tmp_path):
    path = _saved(tmp_path)
    v = tf.get_variable("v", [])
    tf.train.create_global_step()
    value, update = tf.metrics.mean(v)
    tf.summary.scalar("value", value)
    found = slim.evaluation.evaluate_once(
        "", path, str(tmp_path / "eval"), num_evals=3, eval_op=update, final_op=[value, v]
    )
    assert found == [7.0, 7.0]
    (count,) = tf.get_collection(tf.GraphKeys.EVAL_STEP)
    assert count.op.name == "eval_step" and count in tf.local_variables()
    (events,) = (tmp_path / "eval").glob("events*")
    tags = [v.tag for e in tf.train.summary_iterator(str(events)) for v in e.summary.value]
    assert "value" in tags


def test_each_new_checkpoint_is_evaluated(tmp_path):
    _saved(tmp_path)
    v = tf.get_variable("v", [])
    tf.train.create_global_step()
    found = slim.evaluation.evaluation_loop(
        "", str(tmp_path), str(tmp_path), final_op=v, max_number_of_evaluations=1, summary_op=None
    )
    assert found == 7.0
    hook = training.StopAfterNEvalsHook(2)
    found = training.evaluate_repeatedly(
        str(tmp_path),
        eval_ops={"v": v},
        final_ops={"v": v},
        eval_interval_secs=0,
        hooks=[hook],
        timeout=0,
    )
    assert found == {"v": 7.0}


def test_summaries_at_the_end_need_a_place():
    with pytest.raises(ValueError, match="One of log_dir or summary_writer"):
        training.SummaryAtEndHook()


# ---- Data ----------------------------------------------------------------------------------------


def _examples(path):
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    with tf.Session() as session:
        png = session.run(tf.image.encode_png(image))
    with tf.python_io.TFRecordWriter(str(path)) as out:
        for label in range(3):
            feature = {
                "image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[png])),
                "image/format": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"png"])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
            }
            for side in ("ymin", "xmin", "ymax", "xmax"):
                boxes = tf.train.FloatList(value=[0.5] * label)
                feature[f"box/{side}"] = tf.train.Feature(float_list=boxes)
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            out.write(example.SerializeToString())
    return image


def test_records_become_items(tmp_path):
    image = _examples(tmp_path / "data-0.tfrecord")
    decoder = slim.tfexample_decoder
    features = {
        "image/encoded": tf.FixedLenFeature((), tf.string, ""),
        "image/format": tf.FixedLenFeature((), tf.string, "png"),
        "label": tf.FixedLenFeature([], tf.int64),
        **{f"box/{s}": tf.VarLenFeature(tf.float32) for s in ("ymin", "xmin", "ymax", "xmax")},
    }
    handlers = {
        "image": decoder.Image(shape=[2, 2, 3]),
        "label": decoder.Tensor("label"),
        "boxes": decoder.BoundingBox(prefix="box/"),
        "twice": decoder.ItemHandlerCallback("label", lambda found: found["label"] * 2),
    }
    data = slim.dataset.Dataset(
        data_sources=str(tmp_path / "data-*"),
        reader=tf.TFRecordReader,
        decoder=decoder.TFExampleDecoder(features, handlers),
        num_samples=3,
        items_to_descriptions={},
    )
    provider = slim.dataset_data_provider.DatasetDataProvider(data, shuffle=False, num_epochs=1)
    assert provider.num_samples() == 3
    assert provider.list_items() == ["image", "label", "boxes", "twice", "record_key"]
    wanted = provider.get(["image", "label", "boxes", "twice"])
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        with slim.queues.QueueRunners(session):
            for label in range(3):
                found = session.run(wanted)
                np.testing.assert_array_equal(found[0], image)
                assert (found[1], found[3]) == (label, 2 * label)
                assert found[2].tolist() == [[0.5] * 4] * label
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(wanted)
    with pytest.raises(ValueError, match="No data files"):
        slim.parallel_reader.get_data_files([str(tmp_path / "none-*")])


def test_items_may_be_sparse_looked_up_or_of_another_feature(session):
    decoder = slim.tfexample_decoder
    floats = tf.train.FloatList(value=[1.5, 2.5])
    feature = {
        "indices": tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 3])),
        "values": tf.train.Feature(float_list=floats),
        "shape": tf.train.Feature(int64_list=tf.train.Int64List(value=[2, 1])),
        "word": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"b"])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    features = {
        "indices": tf.VarLenFeature(tf.int64),
        "values": tf.VarLenFeature(tf.float32),
        "none": tf.VarLenFeature(tf.float32),
        "shape": tf.FixedLenFeature([2], tf.int64),
        "word": tf.FixedLenFeature([1], tf.string),
    }
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b"])
    values = decoder.Tensor("values", shape_keys="shape")
    made = decoder.TFExampleDecoder(
        features,
        {
            "dense": decoder.SparseTensor(shape=[5], densify=True),
            "values": values,
            "word": decoder.LookupTensor("word", table),
            "backup": decoder.BackupHandler(decoder.Tensor("none"), decoder.Tensor("values")),
        },
    ).decode(tf.constant(example))
    session.run(tf.tables_initializer())
    dense, values, word, backup = session.run(made)
    assert dense.tolist() == [0, 1.5, 0, 2.5, 0] and values.tolist() == [[1.5], [2.5]]
    assert word.tolist() == [1] and backup.tolist() == [1.5, 2.5]


def test_a_queue_is_filled_ahead(session):
    queue = slim.prefetch_queue.prefetch_queue({"a": tf.constant(1), "b": tf.constant([2.0, 3.0])})
    taken = queue.dequeue()
    with slim.queues.QueueRunners(session):
        found = session.run(taken)
    assert found["a"] == 1 and found["b"].tolist() == [2.0, 3.0]


def test_slim_has_what_its_modules_are_made_of():
    assert slim.conv3d is tf.contrib.layers.conv3d and slim.losses is tf.contrib.losses
    assert slim.current_arg_scope is tf.contrib.framework.current_arg_scope
    assert slim.metrics is tf.contrib.metrics
    with slim.arg_scope([slim.model_variable], device="/cpu:0"):
        made = slim.model_variable("w", [2], collections=["mine"])
    assert made.device == "/device:CPU:0" and tf.get_collection("mine") == [made]
    assert slim.get_model_variables() == [made] == tf.global_variables()

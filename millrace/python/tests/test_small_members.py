"""Members of TensorFlow 1's classes that programs use now and then."""

import subprocess
import sys

import numpy as np
import pytest

import millrace as tf


def test_an_operation_knows_its_op_and_where_it_was_made():
    op = tf.concat([[1], [2]], 0).op
    assert op.op_def.name == "ConcatV2"
    assert [arg.name for arg in op.op_def.input_arg] == ["values", "axis"]
    assert op.op_def.input_arg[0].number_attr == "N"
    assert [attr.name for attr in op.op_def.attr] == ["N", "T", "Tidx"]
    assert not op.op_def.is_stateful
    (frame,) = op.traceback
    assert frame.filename == __file__ and "tf.concat" in frame.line


def test_containers_are_reset_alone(session):
    with tf.container("mine"):
        kept = tf.Variable(1, name="kept")
        queue = tf.FIFOQueue(2, tf.int32)
        plain = tf.constant(3)
    other = tf.Variable(2, name="other")
    assert kept.op.get_attr("container") == b"mine"
    assert queue.queue_ref.op.get_attr("container") == b"mine"
    assert other.op.get_attr("container") == b""
    with pytest.raises(ValueError):
        plain.op.get_attr("container")


def test_parts_of_a_device_are_given_anew():
    spec = tf.DeviceSpec(job="ps", task=1)
    assert spec.replace(task=2, device_type="CPU").to_string() == "/job:ps/task:2/device:CPU:*"
    assert spec.task == 1
    with pytest.raises(TypeError, match="'taks' is no part of a device"):
        spec.replace(taks=2)


def test_a_device_that_is_not_there_says_what_helps():
    with tf.device("/gpu:0"):
        x = tf.constant(1) + 1
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(x)
    assert "There are CPU devices only: with allow_soft_placement=True" in str(caught.value)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(x) == 2


def test_options_are_messages():
    config = tf.ConfigProto(
        allow_soft_placement=True, device_count={"GPU": 0}, device_filters=["/job:ps"]
    )
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.gpu_options.experimental.use_unified_memory = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    data = config.SerializeToString()
    assert b"\x38\x01" in data  # field 7
    assert b"\x0a\x07\x0a\x03GPU" in data
    again = tf.ConfigProto.FromString(data)
    assert again == config and again.graph_options.optimizer_options.opt_level == -1
    with pytest.raises(ValueError, match="no ConfigProto"):
        config.ParseFromString(b"\x0a\x7f")
    assert tf.ConfigProto().SerializeToString() == b""


def test_what_a_run_told_is_a_message_that_events_hold(session, tmp_path):
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(tf.constant(1) + 2, options=options, run_metadata=metadata)
    again = tf.RunMetadata.FromString(metadata.SerializeToString())
    assert again.SerializeToString() == metadata.SerializeToString()
    assert again.step_stats.dev_stats[0].node_stats[0].node_name
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_run_metadata(metadata, "step 1", 1)
        with pytest.raises(ValueError, match="already used"):
            writer.add_run_metadata(metadata, "step 1", 2)


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_change_by_slices(session, use_resource):
    variable = tf.Variable([1.0, 2.0, 3.0], use_resource=use_resource)
    slices = tf.IndexedSlices(tf.constant([10.0, 20.0]), tf.constant([0, 2]))
    session.run(variable.initializer)
    for change, expected in [
        (variable.scatter_add, [11, 2, 23]),
        (variable.scatter_sub, [1, 2, 3]),
        (variable.scatter_update, [10, 2, 20]),
        (variable.scatter_mul, [100, 2, 400]),
        (variable.scatter_div, [10, 2, 20]),
        (variable.scatter_max, [10, 2, 20]),
        (variable.scatter_min, [10, 2, 20]),
    ]:
        assert session.run(change(slices)).tolist() == expected
    with pytest.raises(TypeError, match="sparse_delta is not IndexedSlices"):
        variable.scatter_add(3)


def test_variables_count_and_learn_their_shape(session):
    variable = tf.Variable(0)
    session.run(variable.initializer)
    step = variable.count_up_to(1)
    assert session.run(step) == 0
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(step)
    loose = tf.Variable([1, 2], validate_shape=False)
    loose.set_shape([None])
    assert loose.shape.ndims == 1 and loose.value().shape.ndims == 1


def test_a_custom_getter_makes_variables():
    asked = []

    def doubled(getter, name, **arguments):
        asked.append(name)
        return getter(name, **arguments) * 2

    with tf.variable_scope("outer", custom_getter=doubled):
        with tf.variable_scope("inner"):
            made = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    plain = tf.get_variable("w", [1])
    assert asked == ["outer/inner/v"]
    assert isinstance(made, tf.Tensor) and isinstance(plain, tf.Variable)
    assert [variable.name for variable in tf.global_variables()] == ["outer/inner/v:0", "w:0"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(made).tolist() == [2, 2]
    with tf.variable_scope("outer", reuse=True, custom_getter=doubled):
        tf.get_variable("inner/v", [2])
    assert len(tf.global_variables()) == 2


def test_getters_of_inner_scopes_call_those_of_outer_ones():
    def adds(text):
        def getter(get, name, **arguments):
            return get(name + text, **arguments)

        return getter

    with tf.variable_scope("a", custom_getter=adds("_outer")):
        with tf.variable_scope("b", custom_getter=adds("_inner")):
            assert tf.get_variable("v", [1]).name == "a/b/v_inner_outer:0"
    assert tf.get_variable("v", [1], custom_getter=adds("_own")).name == "v_own:0"


def test_scopes_keep_what_is_set():
    with tf.variable_scope("s") as scope:
        scope.set_regularizer(len)
        scope.set_partitioner("partitioner")
        with tf.variable_scope("t") as inner:
            assert inner.regularizer is len and inner.partitioner == "partitioner"


def test_lines_are_logged_now_and_then(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    caplog.set_level(tf.logging.INFO, "millrace")
    for step in range(5):
        tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, step)
        tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, step)
        tf.logging.log_if(tf.logging.INFO, "if %d", step == 3, step)
    tf.logging.flush()
    assert sorted(record.getMessage() for record in caplog.records) == [
        "every 0",
        "every 2",
        "every 4",
        "first 0",
        "first 1",
        "if 3",
    ]


def test_flags_have_either_names(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import millrace as tf
flags = tf.app.flags
flags.DEFINE_integer(name="steps", default=3, help="how many")
flags.DEFINE_float("rate", default=0.5, help="h", lower_bound=0)
flags.DEFINE_multi_integer("sizes", [1], "sizes")
flags.DEFINE_multi_string("names", "a", "names")
flags.DEFINE_string("must", None, "m")
flags.DEFINE_bool("on", help="h", default=False)
flags.mark_flags_as_required(["must"])
F = flags.FLAGS
def main(_):
    print(F.steps, F.rate, F.sizes, F.names, F.must, F["on"].value, "rate" in F, sorted(F))
tf.app.run()
"""
    )

    def run(*arguments):
        return subprocess.run(
            [sys.executable, program, *arguments], capture_output=True, text=True, timeout=60
        )

    done = run("--sizes=4", "--sizes=5", "--must=x", "--rate=0.25", "--on")
    assert done.stdout == (
        "3 0.25 [4, 5] ['a'] x True True ['must', 'names', 'on', 'rate', 'sizes', 'steps']\n"
    ), done.stderr
    assert "must" in run().stderr and run().returncode == 2
    assert "less than 0" in run("--must=x", "--rate=-1").stderr


def test_flags_are_listed_and_read_as_older_programs_do(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        """
import millrace as tf
tf.flags.DEFINE_integer("steps", 3, "how many")
F = tf.flags.FLAGS
F._parse_flags()
print(F.__flags, [flag.value for flag in F.__flags.values()])
F.stepp
"""
    )
    command = [sys.executable, program, "--steps=4"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "{'steps': Flag(steps=4)} [4]\n", done.stderr
    assert "there is no flag 'stepp'; there are ['steps']" in done.stderr


def test_an_attribute_that_is_an_int_takes_a_float(session):
    made = tf.nn.lrn(tf.ones([1, 1, 1, 4]), 4.0)
    assert made.op.get_attr("depth_radius") == 4
    with pytest.raises(ValueError, match="expected int, got inf"):
        tf.nn.lrn(tf.ones([1, 1, 1, 4]), float("inf"))


def test_files_are_read_and_written(tmp_path):
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
        assert file.size() == 8
    with tf.gfile.FastGFile(path) as file:
        assert file.readline() == "one\n" and file.tell() == 4
        assert list(file) == ["two\n"]
        file.seek(0)
        assert file.read(3) == "one"
    assert tf.gfile.Stat(path).length == 8 and not tf.gfile.Stat(path).is_directory
    tf.gfile.Open(str(tmp_path / "empty"), "w").close()
    assert tf.gfile.Exists(str(tmp_path / "empty"))
    assert tf.gfile.Glob([path, str(tmp_path / "e*")]) == [path, str(tmp_path / "empty")]
    tf.gfile.MakeDirs(str(tmp_path / "b" / "c"))
    tf.gfile.DeleteRecursively(str(tmp_path / "b"))
    assert sorted(tf.gfile.ListDirectory(str(tmp_path))) == ["a.txt", "empty"]


def test_what_goes_wrong_with_files_is_an_error_of_both_kinds(tmp_path):
    missing = str(tmp_path / "missing")
    for ask in (tf.gfile.Stat, tf.gfile.Remove, tf.gfile.ListDirectory, tf.gfile.DeleteRecursively):
        with pytest.raises(tf.errors.NotFoundError):
            ask(missing)
        with pytest.raises(FileNotFoundError):
            ask(missing)
    with pytest.raises(tf.errors.NotFoundError, match="missing; No such file"):
        tf.gfile.GFile(missing).read()
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.gfile.MkDir(str(tmp_path))
    with pytest.raises(ValueError, match="mode is not one of"):
        tf.gfile.GFile(missing, "q")
    np.testing.assert_equal(tf.gfile.Exists(missing), False)


@pytest.mark.parametrize("use_resource", [False, True])
def test_slices_of_a_variable_by_rows_of_places(use_resource):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=use_resource)
        session.run(v.initializer)
        assert session.run(v.gather_nd([[0, 1], [1, 0]])).tolist() == [2, 3]
        assert session.run(v.sparse_read([1])).tolist() == [[3, 4]]
        session.run(v.scatter_nd_add([[0, 0]], [5.0]))
        session.run(v.scatter_nd_sub([[1]], [[1.0, 1.0]]))
        changed = session.run(v.scatter_nd_update([[1, 1]], [9.0]))
        assert changed.tolist() == session.run(v).tolist() == [[6, 2], [2, 9]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_counts_up_to_a_limit(use_resource):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0, use_resource=use_resource)
        session.run(v.initializer)
        counted = v.count_up_to(2)
        assert [session.run(counted), session.run(counted)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(counted)


def test_a_sparse_tensor_becomes_dense():
    with tf.Graph().as_default(), tf.Session() as session:
        sparse = tf.SparseTensor([[0, 1], [1, 0]], [3, 4], [2, 2])
        assert session.run(tf.sparse_tensor_to_dense(sparse, -1)).tolist() == [[-1, 3], [4, -1]]
        with pytest.raises(TypeError, match="must be a SparseTensor"):
            tf.sparse_tensor_to_dense([1])


def test_variables_go_to_the_task_that_has_least():
    strategy = tf.contrib.training.GreedyLoadBalancingStrategy(
        2, tf.contrib.training.byte_size_load_fn
    )
    setter = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)
    with tf.Graph().as_default(), tf.device(setter):
        sizes = [8, 2, 2, 2, 4]
        made = [tf.get_variable(f"v{i}", [size]) for i, size in enumerate(sizes)]
    assert [v.device[-1] for v in made] == ["0", "1", "1", "1", "1"]


def test_checkpoints_are_read_by_names_of_contrib_too():
    for name in ("list_variables", "load_checkpoint", "load_variable", "init_from_checkpoint"):
        assert getattr(tf.contrib.framework, name) is getattr(tf.train, name)

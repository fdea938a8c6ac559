"""What programs import from inside TensorFlow: messages, files, tables, devices, data sets."""

import numpy as np
import pytest

import millrace as tf
from millrace.contrib import slim
from millrace.contrib.slim.python.slim.nets import inception_v3
from millrace.core.example import example_pb2, feature_pb2
from millrace.core.framework import attr_value_pb2, step_stats_pb2, types_pb2
from millrace.core.protobuf import meta_graph_pb2, rewriter_config_pb2, saver_pb2
from millrace.core.util import event_pb2
from millrace.python import pywrap_tensorflow
from millrace.python.client import device_lib
from millrace.python.lib.io import file_io
from millrace.python.ops import lookup_ops
from millrace.python.training import saver, summary_io, training


def test_messages_are_the_public_ones():
    assert example_pb2.Example is tf.train.Example
    assert feature_pb2.Int64List is tf.train.Int64List
    assert attr_value_pb2.AttrValue is tf.AttrValue
    assert meta_graph_pb2.TensorInfo is tf.TensorInfo
    assert saver_pb2.SaverDef is tf.train.SaverDef and saver_pb2.SaverDef.V2 == 2
    assert event_pb2.Event is tf.Event
    assert step_stats_pb2.StepStats().dev_stats == []
    assert types_pb2.DT_FLOAT == tf.float32.as_datatype_enum
    assert types_pb2.DT_STRING_REF == tf.string.as_datatype_enum + 100


def test_names_from_inside_are_the_public_ones():
    assert lookup_ops.index_table_from_tensor is tf.contrib.lookup.index_table_from_tensor
    assert pywrap_tensorflow.NewCheckpointReader is tf.train.NewCheckpointReader
    assert saver.checkpoint_exists is tf.train.checkpoint_exists
    assert training.MonitoredTrainingSession is tf.train.MonitoredTrainingSession
    assert summary_io.SummaryWriterCache is tf.summary.FileWriterCache
    assert tf.python.framework.tensor_shape.scalar() == tf.TensorShape([])
    assert inception_v3.inception_v3 is slim.nets.inception_v3.inception_v3


def test_the_devices_of_this_process_are_cpus():
    (device,) = device_lib.list_local_devices()
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")
    two = device_lib.list_local_devices(tf.ConfigProto(device_count={"CPU": 2}))
    assert [each.name for each in two] == ["/device:CPU:0", "/device:CPU:1"]


def test_files_are_read_and_written_whole(tmp_path):
    path = str(tmp_path / "text")
    file_io.write_string_to_file(path, "ä")
    assert file_io.read_file_to_string(path) == "ä"
    assert file_io.read_file_to_string(path, binary_mode=True) == "ä".encode()
    with file_io.FileIO(path, mode="r") as file:
        assert file.read() == "ä"
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        file_io.read_file_to_string(str(tmp_path / "none"))


def test_what_may_rewrite_graphs_is_passed_on():
    rewrites = rewriter_config_pb2.RewriterConfig
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.memory_optimization = rewrites.NO_MEM_OPT
    config.graph_options.rewrite_options.auto_mixed_precision = rewrites.ON
    config.graph_options.rewrite_options.optimizers.append("function")
    read = tf.ConfigProto.FromString(config.SerializeToString()).graph_options.rewrite_options
    assert (read.memory_optimization, read.auto_mixed_precision) == (1, 1)
    assert read.optimizers == ["function"]
    with tf.Session(config=config) as session:
        assert session.run(tf.constant(1) + 1) == 2


def test_records_are_taken_without_a_queue(session, tmp_path):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(4):
            writer.write(b"%d" % number)
    whole = tf.contrib.framework.RecordInput(path, batch_size=4, buffer_size=4, seed=1)
    assert sorted(session.run(whole.get_yield_op())) == [b"0", b"1", b"2", b"3"]
    parts = tf.contrib.framework.RecordInput(path, 2, buffer_size=4, seed=1, batches=2)
    batches = session.run(parts.get_yield_op())
    assert [len(batch) for batch in batches] == [2, 2]
    assert sorted(sum(batches, [])) == [b"0", b"1", b"2", b"3"]
    with pytest.raises(ValueError, match="batch_size"):
        tf.contrib.framework.RecordInput(path, batch_size=0)


def test_summaries_are_named_after_what_they_show(session):
    value = tf.constant([0.0, 2.0], name="value")
    slim.summaries.add_histogram_summary(value)
    slim.summaries.add_zero_fraction_summary(value)
    shown = slim.summaries.add_scalar_summary(
        tf.reduce_sum(value), "sum", "all", print_summary=True
    )
    assert shown in tf.get_collection(tf.GraphKeys.SUMMARIES)
    merged = tf.Summary.FromString(session.run(tf.summary.merge_all()))
    values = {each.tag: each.simple_value for each in merged.value}
    assert values == {"value_1": 0.0, "value/Fraction_of_Zero_Values": 0.5, "all/sum": 2.0}


def test_rows_of_files_become_data_sets(tmp_path):
    base = tf.contrib.learn.datasets.base
    (tmp_path / "with").write_text("2,2,a,b\n1.5,2,0\n3,4,1\n")
    made = base.load_csv_with_header(str(tmp_path / "with"), np.int32, np.float32)
    assert made.target.tolist() == [0, 1] and made.data.tolist() == [[1.5, 2], [3, 4]]
    (tmp_path / "without").write_text("7,1\n8,2\n")
    made = base.load_csv_without_header(str(tmp_path / "without"), np.int32, np.int32, 0)
    assert made.target.tolist() == [7, 8] and made.data.tolist() == [[1], [2]]


def test_a_file_is_fetched_once(tmp_path):
    (tmp_path / "source").write_text("contents")
    source, folder = (tmp_path / "source").as_uri(), str(tmp_path / "made")
    fetch = tf.contrib.learn.datasets.base.maybe_download
    path = fetch("copy", folder, source)
    assert file_io.read_file_to_string(path) == "contents"
    (tmp_path / "source").unlink()
    assert fetch("copy", folder, source) == path
    with pytest.raises(OSError):
        fetch("other", folder, source)


def test_a_data_set_that_is_not_here_is_named():
    with pytest.raises(ValueError, match="'iris'.*tf.keras.datasets"):
        tf.contrib.learn.datasets.load_dataset("iris")


def test_narrow_variables_are_kept_wide(session):
    with tf.contrib.tpu.bfloat16_scope():
        narrow = tf.get_variable("narrow", [2], tf.bfloat16, tf.ones_initializer())
        wide = tf.get_variable("wide", [2], tf.float32, tf.ones_initializer())
    assert narrow.dtype == tf.bfloat16 and wide.dtype.base_dtype == tf.float32
    assert [each.dtype.base_dtype for each in tf.global_variables()] == [tf.float32] * 2
    session.run(tf.global_variables_initializer())
    assert session.run(tf.cast(narrow, tf.float32)).tolist() == [1, 1]

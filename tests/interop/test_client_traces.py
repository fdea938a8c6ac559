"""What TensorFlow's client learns about a step: its timing, its partitions, its cost."""

import json

import pytest
import tensorflow as tf
from tensorflow.python.client import timeline

tf1 = tf.compat.v1

PS, WORKER = [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ["ps", "worker"]]


@pytest.fixture
def spread(cluster, graph):
    """(target, x, y): y = 2x + 1, doubled at ps:0, the rest at worker:0, the master."""
    both = cluster(ps=1, worker=1)
    x = tf1.placeholder(tf.float32, [4], name="x")
    with tf.device("/job:ps/task:0"):
        doubled = tf.multiply(x, 2.0, name="doubled")
    with tf.device("/job:worker/task:0"):
        y = tf.add(doubled, 1.0, name="y")
    return both.target("worker"), x, y


def traced(spread, **options):
    target, x, y = spread
    metadata = tf1.RunMetadata()
    with tf1.Session(target) as session:
        values = session.run(
            y, {x: [0, 1, 2, 3]}, options=tf1.RunOptions(**options), run_metadata=metadata
        )
    assert values.tolist() == [1, 3, 5, 7]
    return metadata


def test_a_full_trace_times_each_operation_where_it_ran(spread):
    stats = traced(spread, trace_level=tf1.RunOptions.FULL_TRACE).step_stats
    ran = {device.device: {n.node_name: n for n in device.node_stats} for device in stats.dev_stats}
    assert "doubled" in ran[PS]
    assert "y" in ran[WORKER]
    for node in [ran[PS]["doubled"], ran[WORKER]["y"]]:
        assert node.all_start_micros > 0
        assert node.all_end_rel_micros >= node.op_end_rel_micros >= node.op_start_rel_micros >= 0


def test_a_full_trace_tells_the_shape_of_what_was_made(spread):
    stats = traced(spread, trace_level=tf1.RunOptions.FULL_TRACE).step_stats
    [y] = [n for device in stats.dev_stats for n in device.node_stats if n.node_name == "y"]
    description = y.output[0].tensor_description
    assert description.dtype == tf.float32.as_datatype_enum
    assert [d.size for d in description.shape.dim] == [4]


def test_a_full_trace_makes_a_timeline(spread):
    stats = traced(spread, trace_level=tf1.RunOptions.FULL_TRACE).step_stats
    events = json.loads(timeline.Timeline(stats).generate_chrome_trace_format())["traceEvents"]
    assert {"doubled", "y"} <= {e["args"]["name"] for e in events if "name" in e.get("args", {})}


def test_partition_graphs_show_what_each_task_ran(spread):
    metadata = traced(spread, output_partition_graphs=True)
    placed = {n.name: n.device for part in metadata.partition_graphs for n in part.node}
    assert placed["doubled"] == PS
    assert placed["y"] == WORKER
    by_device = {
        part.node[0].device: {n.op for n in part.node} for part in metadata.partition_graphs
    }
    assert "_Recv" in by_device[WORKER] or "_HostRecv" in by_device[WORKER]
    assert "_Send" in by_device[PS] or "_HostSend" in by_device[PS]


def test_nothing_is_recorded_that_was_not_asked_for(spread):
    metadata = traced(spread, trace_level=tf1.RunOptions.NO_TRACE)
    assert not metadata.step_stats.dev_stats
    assert not metadata.partition_graphs


def test_steps_with_and_without_trace_alternate(spread):
    target, x, y = spread
    full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf1.Session(target) as session:
        for number in range(4):
            metadata = tf1.RunMetadata()
            feed = {x: [number] * 4}
            if number % 2:
                session.run(y, feed, options=full, run_metadata=metadata)
            else:
                session.run(y, feed)
            assert bool(metadata.step_stats.dev_stats) == bool(number % 2)


def test_a_loop_is_traced_once_per_iteration(target, graph):
    metadata = tf1.RunMetadata()
    step = lambda i: tf.add(i, 1, name="step")
    loop = tf1.while_loop(lambda i: i < 5, step, [0], name="loop")
    full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf1.Session(target) as session:
        session.run(loop, options=full, run_metadata=metadata)
    ran = [n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats]
    assert ran.count("loop/step") == 5


def test_a_failed_step_that_was_traced_fails_as_any(target, graph):
    x = tf1.placeholder(tf.int32, [])
    y = 10 // x
    full = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE)
    with tf1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: 0}, options=full, run_metadata=tf1.RunMetadata())
        assert session.run(y, {x: 5}) == 2


def test_every_so_many_steps_tell_what_they_cost(spread):
    target, x, y = spread
    config = tf1.ConfigProto()
    config.graph_options.build_cost_model = 3
    told = []
    with tf1.Session(target, config=config) as session:
        for _ in range(6):
            told.append(tf1.RunMetadata())
            feeds = {x: [0, 1, 2, 3]}
            session.run(y, feeds, options=tf1.RunOptions(), run_metadata=told[-1])
    assert [metadata.HasField("cost_graph") for metadata in told] == [False, False, True] * 2
    assert not told[2].HasField("step_stats") and not told[2].partition_graphs
    nodes = {node.name: node for node in told[2].cost_graph.node}
    assert (nodes["doubled"].device, nodes["y"].device) == (PS, WORKER)
    assert [dim.size for dim in nodes["y"].output_info[0].shape.dim] == [4]
    assert all(node.compute_time >= 0 for node in nodes.values())

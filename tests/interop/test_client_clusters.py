"""Clusters of every shape, as TensorFlow's client meets them: names, indices, filters, its own spec."""

import pytest
import tensorflow as tf

from threads import Background

tf1 = tf.compat.v1
errors = tf.errors


def names(session):
    return sorted(d.name for d in session.list_devices() if d.device_type == "CPU")


def cpu(job, index):
    return f"/job:{job}/replica:0/task:{index}/device:CPU:0"


@pytest.mark.parametrize("master", ["ps:0", "ps:1", "worker:0", "worker:1"])
def test_every_task_can_be_the_master(cluster, graph, master):
    four = cluster(ps=2, worker=2)
    x = tf1.placeholder(tf.float32, [2])
    parts = []
    for number in range(2):
        with tf.device(f"/job:ps/task:{number}"):
            weights = tf1.Variable([number + 1.0] * 2, use_resource=False)
        with tf.device(f"/job:worker/task:{number}"):
            parts.append(x * weights)
    total = tf.add_n(parts)
    with tf1.Session(four.target(master)) as session:
        session.run(tf1.global_variables_initializer())
        assert session.run(total, {x: [1, 10]}).tolist() == [3, 30]


def test_parameters_are_shared_between_the_sessions_of_all_workers(cluster):
    three = cluster(ps=1, worker=2)
    for number in range(2):
        with tf.Graph().as_default():
            with tf1.device(tf1.train.replica_device_setter(ps_tasks=1, worker_device="")):
                v = tf1.get_variable("v", initializer=0, dtype=tf.int32, use_resource=False)
                step = tf1.assign_add(v, 5)
            with tf1.Session(three.target(f"worker:{number}")) as session:
                if number == 0:
                    session.run(v.initializer)
                assert session.run(step) == 5 * (number + 1)
    assert v.device == "/job:ps/task:0"


def test_jobs_may_have_any_names(cluster, graph):
    jobs = {"files": 1, "map_2": 2, "Reduce": 1, "x": 1}
    five = cluster(**jobs)
    expected = [cpu(job, i) for job, n in jobs.items() for i in range(n)]
    sums = []
    for name in expected:
        with tf.device(name):
            sums.append(tf1.placeholder_with_default(1, []) + 1)
    with tf1.Session(five.target("files")) as session:
        assert session.run(sums) == [2] * 5
        assert names(session) == sorted(expected)


def test_a_sparse_cluster_has_only_the_tasks_it_names(cluster, graph):
    sparse = cluster(ps=[3], worker=[0, 7])
    with tf.device("/job:worker/task:7"):
        seven = tf1.placeholder_with_default(7, []) + 0
    with tf.device("/job:ps/task:3"):
        three = tf1.placeholder_with_default(3, []) + 0
    total = seven + three
    with tf1.Session(sparse.target("worker:7")) as session:
        assert session.run(total) == 10
        assert names(session) == [cpu("ps", 3), cpu("worker", 0), cpu("worker", 7)]
        with tf.device("/job:worker/task:1"):
            nowhere = total + 1
        with pytest.raises(errors.InvalidArgumentError, match="/job:worker/task:1"):
            session.run(nowhere)


def test_a_device_that_is_partly_named_is_found(cluster, graph):
    both = cluster(ps=1, worker=1)
    x = tf1.placeholder(tf.int32, [])
    spellings = [
        "",
        "/cpu:0",
        "/device:CPU:0",
        "/job:ps",
        "/job:ps/cpu:0",
        "/job:ps/replica:0/task:0",
        "/job:ps/task:0/device:CPU:*",
        "/job:worker/replica:0/task:0/device:CPU:0",
    ]
    sums = []
    for number, spelling in enumerate(spellings):
        with tf.device(spelling):
            sums.append(x + number)
    with tf1.Session(both.target("worker")) as session:
        assert session.run(sums, {x: 10}) == [10 + i for i in range(len(spellings))]


def test_operations_without_a_device_run_on_the_master(cluster, graph):
    both = cluster(ps=1, worker=1)
    x = tf1.placeholder(tf.int32, [], name="x") + 1
    metadata = tf1.RunMetadata()
    trace = tf1.RunOptions(trace_level=tf1.RunOptions.SOFTWARE_TRACE, output_partition_graphs=True)
    with tf1.Session(both.target("ps")) as session:
        session.run(x, {"x:0": 1}, options=trace, run_metadata=metadata)
    used = {node.device for part in metadata.partition_graphs for node in part.node}
    assert used == {cpu("ps", 0)}


def test_soft_placement_puts_what_asks_for_a_missing_gpu_on_a_cpu(target, graph):
    with tf.device("/device:GPU:0"):
        x = tf.add(tf1.placeholder_with_default(1, []), 1)
    with tf1.Session(target) as session:
        with pytest.raises(errors.InvalidArgumentError, match="GPU"):
            session.run(x)
    with tf1.Session(target, config=tf1.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(x) == 2


def test_device_filters_hide_the_other_tasks(cluster, graph):
    three = cluster(ps=1, worker=2)
    filters = tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.device("/job:ps/task:0"):
        x = tf1.placeholder_with_default(1, []) + 1
    with tf1.Session(three.target("worker"), config=filters) as session:
        assert session.run(x) == 2
        assert names(session) == [cpu("ps", 0), cpu("worker", 0)]
        with tf.device("/job:worker/task:1"):
            hidden = x + 1
        with pytest.raises(errors.InvalidArgumentError, match="/job:worker/task:1"):
            session.run(hidden)


def test_a_session_does_not_wait_for_a_task_that_its_filters_hide(cluster, graph):
    three = cluster(ps=1, worker=2)
    three.tasks["worker:1"].kill()
    filters = tf1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with tf.device("/job:ps/task:0"):
        x = tf1.placeholder_with_default(1, []) + 1
    with tf1.Session(three.target("worker"), config=filters) as session:
        assert Background(session.run, x).result() == 2


def test_a_master_that_its_own_filters_leave_out_is_there_still(cluster, graph):
    both = cluster(ps=1, worker=1)
    filters = tf1.ConfigProto(device_filters=["/job:ps"])
    with tf.device("/job:ps/task:0"):
        x = tf1.placeholder_with_default(1, []) + 1
    with tf1.Session(both.target("ps"), config=filters) as session:
        assert session.run(x) == 2


def test_a_filter_of_several_jobs_still_runs_steps_across_them(cluster, graph):
    four = cluster(a=1, b=1, c=1, d=1)
    for hidden in ["c:0", "d:0"]:
        four.tasks[hidden].kill()
    with tf.device("/job:b/task:0"):
        x = tf1.placeholder_with_default(20, []) + 1
    with tf.device("/job:a/task:0"):
        y = x * 2
    config = tf1.ConfigProto(device_filters=["/job:a", "/job:b"])
    with tf1.Session(four.target("a"), config=config) as session:
        assert Background(session.run, y).result() == 42

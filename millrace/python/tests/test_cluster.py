import gc
import json
import socket
import threading

import numpy as np
import pytest

import millrace as tf
from millrace._run import targets


@pytest.fixture
def tf_config(monkeypatch):
    def set_config(cluster=None, task=None, **more):
        config = {**({"cluster": cluster} if cluster else {}), **({"task": task} if task else {})}
        monkeypatch.setenv("TF_CONFIG", json.dumps({**config, **more}))

    monkeypatch.delenv("TF_CONFIG", raising=False)
    return set_config


# ---- ClusterSpec ---------------------------------------------------------------------------------


def test_a_cluster_is_made_from_lists_and_dictionaries():
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {3: "c:3", 1: "d:4"}})
    assert spec.as_dict() == {"ps": ["a:1", "b:2"], "worker": {1: "d:4", 3: "c:3"}}
    assert spec.jobs == ["ps", "worker"]
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("worker") == [1, 3]
    assert spec.task_address("worker", 3) == "c:3"
    assert spec.job_tasks("worker") == [None, "d:4", None, "c:3"]
    assert tf.train.ClusterSpec(spec) == spec
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    assert bool(spec) and not bool(tf.train.ClusterSpec({}))


def test_what_is_not_in_a_cluster_is_an_error():
    spec = tf.train.ClusterSpec({"ps": ["a:1"]})
    with pytest.raises(ValueError, match="No such job"):
        spec.num_tasks("worker")
    with pytest.raises(ValueError, match="No task"):
        spec.task_address("ps", 1)


@pytest.mark.parametrize(
    "cluster, error",
    [
        (3, TypeError),
        ({"ps": "a:1"}, TypeError),
        ({"p s": ["a:1"]}, ValueError),
        ({"ps": ["a"]}, ValueError),
    ],
)
def test_clusters_that_make_no_sense_are_refused(cluster, error):
    with pytest.raises(error):
        tf.train.ClusterSpec(cluster)


# ---- RunConfig -----------------------------------------------------------------------------------


def test_run_config_reads_tf_config(tf_config):
    tf_config(
        {"files": ["localhost:2222"], "map": ["localhost:2223", "localhost:2224"]},
        {"type": "map", "index": 1},
    )
    config = tf.contrib.learn.RunConfig()
    assert (config.task_type, config.task_id) == ("map", 1)
    assert config.cluster_spec.as_dict()["map"] == ["localhost:2223", "localhost:2224"]
    assert config.master == "grpc://localhost:2224"
    assert config.environment == "local" and not config.is_chief
    assert config.num_ps_replicas == 0


def test_without_tf_config_the_process_is_alone(tf_config):
    config = tf.contrib.learn.RunConfig()
    assert (config.task_type, config.task_id, config.master) == (None, 0, "")
    assert config.is_chief and not config.cluster_spec


def test_a_bad_tf_config_says_where(tf_config):
    tf_config({"ps": ["a:1"]}, {"type": "ps", "index": "one"})
    with pytest.raises(ValueError, match=r"\$\.task\.index.*one"):
        tf.contrib.learn.RunConfig()


# ---- Server --------------------------------------------------------------------------------------


@pytest.fixture
def servers(monkeypatch):
    """servers(a=1, b=2): a cluster of servers in this process, {(job, index): Server}."""
    running = {}

    def start(**jobs):
        # Bound beforehand and handed over, as a launcher does, so that every address is known.
        sockets = {
            (job, index): socket.socket() for job, count in jobs.items() for index in range(count)
        }
        for bound in sockets.values():
            bound.bind(("localhost", 0))
        address = {task: "localhost:%d" % bound.getsockname()[1] for task, bound in sockets.items()}
        spec = {job: [address[job, index] for index in range(count)] for job, count in jobs.items()}
        for task, bound in sockets.items():
            monkeypatch.setenv("MILLRACE_LISTEN_FD", str(bound.detach()))
            monkeypatch.setenv("MILLRACE_LISTEN_ADDRESS", address[task])
            running[task] = tf.train.Server(spec, *task)
        return running

    yield start
    for server in running.values():
        server.stop()


def test_a_server_runs_sessions():
    server = tf.train.Server.create_local_server()
    assert server.target.startswith("grpc://localhost:")
    with tf.Session(server.target) as session:
        assert session.run(tf.constant(3)) == 3
        (device,) = session.list_devices()
        assert device.name == "/job:local/replica:0/task:0/device:CPU:0"
    server.stop()


def test_a_server_serves_although_the_program_keeps_only_its_target():
    target = tf.train.Server.create_local_server().target
    gc.collect()
    with tf.Session(target) as session:
        assert session.run(tf.constant(3)) == 3
    targets.running_server(target).stop()
    assert target not in targets.running_servers()


def test_sessions_on_one_server_share_variables():
    server = tf.train.Server.create_local_server()
    v = tf.Variable(0, name="shared")
    with tf.Session(server.target) as first, tf.Session(server.target) as second:
        first.run(v.initializer)
        first.run(tf.assign_add(v, 5))
        assert second.run(v) == 5
    server.stop()


def test_a_server_must_know_which_task_it_is(tf_config):
    spec = {"ps": ["localhost:0"], "worker": ["localhost:0", "localhost:0"]}
    with pytest.raises(ValueError, match="explicit `job_name`"):
        tf.train.Server(spec)
    with pytest.raises(ValueError, match="explicit `task_index`"):
        tf.train.Server(spec, job_name="worker")
    with pytest.raises(ValueError, match="No such job"):
        tf.train.Server(spec, job_name="chief")
    with pytest.raises(ValueError, match="No task"):
        tf.train.Server(spec, job_name="ps", task_index=4)
    with pytest.raises(ValueError, match="empty"):
        tf.train.Server({})
    with pytest.raises(TypeError):
        tf.train.Server(3)
    with pytest.raises(ValueError, match="protocol"):
        tf.train.Server({"ps": ["localhost:0"]}, protocol="carrier-pigeon")


def test_a_server_may_learn_which_task_it_is_from_tf_config(tf_config):
    spec = {"ps": ["localhost:0"], "worker": ["localhost:0", "localhost:0"]}
    tf_config(spec, {"type": "worker", "index": 1})
    server = tf.train.Server(tf.train.ClusterSpec(spec), start=False)
    assert (server.server_def.job_name, server.server_def.task_index) == ("worker", 1)
    with pytest.raises(ValueError, match="start"):
        server.target


def test_joining_ends_when_the_server_stops():
    server = tf.train.Server.create_local_server()
    joined = threading.Thread(target=server.join)
    joined.start()
    server.stop()
    joined.join(30)
    assert not joined.is_alive()


def test_a_local_session_that_wants_another_task_is_told_of_the_server():
    server = tf.train.Server.create_local_server()
    with tf.device("/job:local/task:0"):
        c = tf.constant(1)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(c)
    assert "Did you mean tf.Session(server.target), 'grpc://localhost:" in caught.value.message
    assert caught.value.message.count("This session is local") == 1
    with tf.Session(server.target) as session:
        assert session.run(c) == 1
    server.stop()


def test_a_graph_spans_tasks(servers):
    cluster = servers(ps=1, worker=2)
    with tf.device("/job:ps/task:0"):
        total = tf.Variable(0, name="total")
    x = tf.placeholder(tf.int32, [])
    with tf.device("/job:worker/task:1"):
        square = x * x
    add = tf.assign_add(total, square, use_locking=True).op
    with tf.Session(cluster["worker", 0].target) as session:
        session.run(tf.global_variables_initializer())
        for number in range(10):
            session.run(add, {x: number})
        assert session.run(total) == 285
        assert len(session.list_devices()) == 3
    with tf.Session(cluster["ps", 0].target) as other:
        assert other.run(total) == 285


def test_words_are_counted_by_four_tasks(servers):
    """The four roles of the word count, as four threads with a graph and a session each."""
    cluster = servers(files=1, reduce=1, map=2)
    texts = {f"text {i}".encode(): i * 3 % 17 for i in range(40)}
    counted = []

    def work(job, index):
        with tf.Graph().as_default():
            with tf.device("/job:files/task:0"):
                queue = tf.FIFOQueue(10, [tf.string], shared_name="names")
            with tf.device("/job:reduce/task:0"):
                total = tf.Variable(0, name="total")
            name, count = tf.placeholder(tf.string), tf.placeholder(tf.int32)
            put, take, close = queue.enqueue(name), queue.dequeue(), queue.close()
            add = tf.assign_add(total, count, use_locking=True)
            session = tf.Session(cluster[job, index].target)
            if job == "files":
                for text in texts:
                    session.run(put, {name: text})
                session.run(close)
            elif job == "map":
                while True:
                    try:
                        text = session.run(take)
                    except tf.errors.OutOfRangeError:
                        return
                    session.run(add, {count: texts[text]})
                    counted.append(text)

    with tf.device("/job:reduce/task:0"):
        total = tf.Variable(0, name="total")
    owner = tf.Session(cluster["reduce", 0].target)
    owner.run(total.initializer)
    threads = [
        threading.Thread(target=work, args=task) for task in (("map", 0), ("files", 0), ("map", 1))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert owner.run(total) == sum(texts.values())
    assert sorted(counted) == sorted(texts)


def test_an_error_of_another_task_names_the_operation(servers):
    cluster = servers(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(0.0, name="v")
    with tf.Session(cluster["worker", 0].target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v + 1)


def test_a_task_that_stops_fails_the_runs_that_need_it(servers):
    cluster = servers(ps=1, worker=1)
    with tf.device("/job:ps/task:0"):
        v = tf.Variable(0.0, name="v")
    session = tf.Session(cluster["worker", 0].target)
    session.run(v.initializer)
    cluster["ps", 0].stop()
    with pytest.raises((tf.errors.UnavailableError, tf.errors.AbortedError), match="ps"):
        session.run(v)
    assert session.run(tf.constant(1)) == 1


def test_a_session_from_elsewhere_goes_over_the_socket(servers):
    """The target of a server that this process does not know as its own: through gRPC."""
    cluster = servers(a=1)
    target = cluster["a", 0].target
    targets.remove_server(target)
    x = tf.placeholder(tf.float32)
    with tf.Session(target) as session:
        assert session.run(x * 2, {x: [1, 2]}).tolist() == [2, 4]
        large = np.arange(1 << 20, dtype=np.float32)
        assert np.array_equal(session.run(x + 1, {x: large}), large + 1)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(
                tf.FIFOQueue(1, tf.int32).dequeue(), options=tf.RunOptions(timeout_in_ms=50)
            )


# ---- Placement of replicas -----------------------------------------------------------------------


def test_what_names_no_task_is_shared_on_the_parameter_server(servers):
    """As programs of TensorFlow 1 count on that have no replica_device_setter."""
    running = servers(ps=1, worker=2)
    seen = []
    for index in range(2):
        with tf.Graph().as_default(), tf.device("/cpu:0"):
            total = tf.Variable(1.0, name="total")
            add = tf.assign_add(total, 2.0)
            supervisor = tf.train.Supervisor(is_chief=index == 0)
            target = running["worker", index].target
            # The second one waits until the first one's variables have values.
            with supervisor.prepare_or_wait_for_session(target) as session:
                seen.append(session.run(add))
    assert seen == [3, 5]


def test_variables_are_dealt_out_to_the_parameter_servers():
    cluster = {"ps": ["a:1", "b:1"], "worker": ["c:1"]}
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        variables = [tf.Variable(0.0) for _ in range(3)]
        c = variables[0] + 1
        with tf.device("/device:CPU:0"):
            d = tf.constant(1)
    tasks = [variable.op.device for variable in variables]
    assert tasks == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert variables[1].initializer.device == "/job:ps/task:1"
    assert (c.device, d.device) == ("/job:worker", "/job:worker/device:CPU:0")
    assert tf.train.replica_device_setter(ps_tasks=0) is None


# ---- Coordinator ---------------------------------------------------------------------------------


def test_a_coordinator_ends_all_threads_when_one_is_finished():
    coordinator = tf.train.Coordinator()

    def work(number):
        with coordinator.stop_on_exception():
            if number == 0:
                raise tf.errors.OutOfRangeError(None, None, "no more")
            coordinator.wait_for_stop()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    coordinator.join(threads)
    assert coordinator.should_stop() and not any(thread.is_alive() for thread in threads)


def test_a_coordinator_raises_the_first_error():
    coordinator = tf.train.Coordinator()

    def fail():
        with coordinator.stop_on_exception():
            raise ValueError("first")

    thread = threading.Thread(target=fail)
    thread.start()
    with pytest.raises(ValueError, match="first"):
        coordinator.join([thread])


def test_a_looper_calls_until_the_end():
    coordinator = tf.train.Coordinator()
    calls = []

    def call():
        calls.append(1)
        if len(calls) == 3:
            coordinator.request_stop()

    looper = tf.train.LooperThread.loop(coordinator, None, call)
    coordinator.join([looper])
    assert len(calls) == 3

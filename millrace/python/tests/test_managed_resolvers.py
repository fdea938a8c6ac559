"""Resolvers that ask Slurm and Kubernetes, and strategies of many tasks that ask resolvers."""

import json
import types

import pytest

import millrace as tf

resolvers = tf.distribute.cluster_resolver


@pytest.fixture
def slurm(monkeypatch):
    def step(nodes, counts, rank):
        monkeypatch.setenv("SLURM_STEP_NODELIST", nodes)
        monkeypatch.setenv("SLURM_STEP_TASKS_PER_NODE", counts)
        monkeypatch.setenv("SLURM_PROCID", str(rank))

    return step


def test_slurm_numbers_tasks_along_its_nodes(slurm):
    slurm("n[08-10],m", "2(x2),1(x2)", 3)
    found = resolvers.SlurmClusterResolver({"ps": 1, "worker": 5}, port_base=9000)
    assert found.cluster_spec().as_dict() == {
        "ps": ["n08:9000"],
        "worker": ["n08:9001", "n09:9000", "n09:9001", "n10:9000", "m:9000"],
    }
    assert found.get_task_info() == ("worker", 2)
    assert found.master("ps", 0) == "grpc://n08:9000"
    assert found.master() == "grpc://n09:9001"
    every = resolvers.SlurmClusterResolver(tasks_per_node=1)
    assert every.cluster_spec().num_tasks("worker") == 4 and every.task_id == 3


def test_what_slurm_says_must_make_sense(slurm, monkeypatch):
    with pytest.raises(RuntimeError, match="SLURM_STEP_NODELIST is not in the environment"):
        resolvers.SlurmClusterResolver()
    for nodes, counts, rank, words in (
        ("n[1-2", "1(x2)", 0, "no list of nodes"),
        ("n[1-999999999]", "1", 0, "more than"),
        ("n[1-9999][1-9999]", "1", 0, "more than"),
        ("n[1-2]", "1", 0, "names 2 nodes"),
        ("n1", "1(x2", 0, "no number of tasks"),
        ("n1", "2", 2, "SLURM_PROCID is 2"),
        ("n1", "2", "one", "no number"),
    ):
        slurm(nodes, counts, rank)
        with pytest.raises(RuntimeError, match=words):
            resolvers.SlurmClusterResolver()
    slurm("n1", "2", 0)
    with pytest.raises(RuntimeError, match="Requested 3 tasks"):
        resolvers.SlurmClusterResolver({"worker": 3})
    with pytest.raises(ValueError, match="no GPUs"):
        resolvers.SlurmClusterResolver(gpus_per_task=1)


def pod(name, address, phase="Running"):
    return types.SimpleNamespace(
        metadata=types.SimpleNamespace(name=name),
        status=types.SimpleNamespace(pod_ip=address, phase=phase),
    )


def client(**pods):
    def answer(label_selector):
        return types.SimpleNamespace(items=pods[label_selector])

    return types.SimpleNamespace(list_pod_for_all_namespaces=answer)


def test_kubernetes_pods_are_tasks_in_the_order_of_their_names():
    asked = client(w=[pod("w-1", "10.0.0.2"), pod("w-0", "10.0.0.1")], p=[pod("p", "10.0.0.3")])
    found = resolvers.KubernetesClusterResolver(
        {"worker": ["w"], "ps": ["p"]}, override_client=asked
    )
    assert found.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:8470", "10.0.0.2:8470"],
        "ps": ["10.0.0.3:8470"],
    }
    assert found.master() == "" and found.master("ps", 0) == "grpc://10.0.0.3:8470"
    found.task_type, found.task_id = "worker", 1
    assert found.master() == "grpc://10.0.0.2:8470"
    alike = client(w=[pod("w", None, "Pending"), pod("w", "10.0.0.1")])  # in two namespaces
    with pytest.raises(RuntimeError, match="is not running"):
        resolvers.KubernetesClusterResolver({"worker": ["w"]}, override_client=alike).cluster_spec()
    late = client(w=[pod("w-0", None, "Pending")])
    with pytest.raises(RuntimeError, match="'w-0' of job 'worker' is not running; it is 'Pending'"):
        resolvers.KubernetesClusterResolver({"worker": ["w"]}, override_client=late).cluster_spec()


def test_kubectl_is_asked_where_no_client_is_given(tmp_path, monkeypatch):
    answer = {
        "items": [{"metadata": {"name": "a"}, "status": {"podIP": "1.2.3.4", "phase": "Running"}}]
    }
    (tmp_path / "answer").write_text(json.dumps(answer))
    command = tmp_path / "kubectl"
    command.write_text(f'#!/bin/sh\n[ "$5" = job=x ] && cat {tmp_path}/answer || exit 3\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    found = resolvers.KubernetesClusterResolver({"worker": ["job=x"]}, tf_server_port=1)
    assert found.cluster_spec().as_dict() == {"worker": ["1.2.3.4:1"]}
    with pytest.raises(RuntimeError, match="ended with 3"):
        resolvers.KubernetesClusterResolver({"worker": ["job=y"]}).cluster_spec()
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="no command kubectl"):
        found.cluster_spec()


def of_task(job, index, **jobs):
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(jobs), "", job, index)


def test_strategies_of_many_tasks_know_which_task_they_are_in():
    experimental = tf.distribute.experimental
    jobs = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    together = experimental.MultiWorkerMirroredStrategy(
        cluster_resolver=of_task("worker", 1, **jobs)
    )
    assert together.num_replicas_in_sync == 3
    context = together.input_context()
    assert (context.num_input_pipelines, context.input_pipeline_id) == (3, 2)
    assert context.get_per_replica_batch_size(6) == 2
    assert together.extended.experimental_should_init
    assert not together.extended.should_checkpoint
    alone = experimental.ParameterServerStrategy(of_task("worker", 1, **jobs))
    assert alone.num_replicas_in_sync == 1 and not alone.extended.experimental_should_init
    with alone.scope():
        v = tf.get_variable("v", [2])
        assert v.device.startswith("/job:ps/task:0")
        alone.run(lambda: tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v)))
        assert {each.device for each in tf.global_variables()} == {v.device}
        assert tf.constant(1).device == "" and alone.extended.worker_devices == (
            "/job:worker/task:1/device:CPU:0",
        )


def test_a_task_that_trains_nothing_is_told_when_it_tries():
    experimental = tf.distribute.experimental
    for make in (
        lambda task: experimental.ParameterServerStrategy(task),
        lambda task: experimental.MultiWorkerMirroredStrategy(cluster_resolver=task),
    ):
        strategy = make(of_task("ps", 0, worker=["b:1"], ps=["d:1"]))
        with pytest.raises(RuntimeError, match="ps:0, is none of those that train"):
            with strategy.scope():
                pass
    with pytest.raises(ValueError, match="no ps tasks"):
        experimental.ParameterServerStrategy(of_task("worker", 0, worker=["b:1"]))
    with pytest.raises(NotImplementedError, match="NCCL"):
        experimental.MultiWorkerMirroredStrategy(experimental.CollectiveCommunication.NCCL)

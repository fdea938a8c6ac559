"""Cluster resolvers: which cluster a program is in, and where it connects to."""

import json

import pytest

import millrace as tf

resolvers = tf.contrib.cluster_resolver


def simple(**jobs):
    return resolvers.SimpleClusterResolver(
        tf.train.ClusterSpec(jobs), task_type="worker", task_id=0
    )


def test_several_clusters_become_one():
    both = resolvers.UnionClusterResolver(
        simple(worker=["a:1"]), simple(worker=["b:1"], ps=["c:1"])
    )
    assert both.cluster_spec().as_dict() == {"worker": ["a:1", "b:1"], "ps": ["c:1"]}
    assert (both.task_type, both.task_id, both.master("ps", 0)) == ("worker", 0, "c:1")
    sparse = resolvers.UnionClusterResolver(simple(worker={1: "a:1"}), simple(worker=["b:1"]))
    assert sparse.cluster_spec().as_dict() == {"worker": ["b:1", "a:1"]}
    twice = resolvers.UnionClusterResolver(
        simple(worker={0: "a:1", 2: "d:1"}), simple(worker=["b:1"])
    )
    with pytest.raises(KeyError, match="Duplicate keys"):
        twice.cluster_spec()
    with pytest.raises(ValueError, match="At least one"):
        resolvers.UnionClusterResolver()


def test_tf_config_is_asked_when_somebody_asks(monkeypatch):
    resolver = resolvers.TFConfigClusterResolver()
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert resolver.master() == ""
    config = {
        "cluster": {"ps": ["a:1"], "worker": ["b:2", "c:3"]},
        "task": {"type": "worker", "index": 1},
    }
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    assert (resolver.task_type, resolver.task_id) == ("worker", 1)
    assert resolver.master() == "grpc://c:3"
    assert resolver.master("ps", 0) == "grpc://a:1"
    assert resolver.cluster_spec().as_dict() == config["cluster"]
    assert resolver.num_accelerators() == {}


def test_what_tf_config_has_amiss_is_told_once(monkeypatch, caplog):
    told = json.dumps({"cluster": {"worker": ["a:1", "b:2"]}, "taks": {}})
    monkeypatch.setenv("TF_CONFIG", told)
    resolver = resolvers.TFConfigClusterResolver(task_type="worker", task_id=1)
    with caplog.at_level("WARNING", "millrace"):
        assert resolver.master() == "grpc://b:2" and resolver.environment
        assert resolver.cluster_spec().num_tasks("worker") == 2
    assert len([line for line in caplog.messages if "taks" in line]) == 1


def test_what_is_no_cluster_is_refused():
    with pytest.raises(TypeError, match="ClusterSpec"):
        resolvers.SimpleClusterResolver({"worker": ["a:1"]})
    with pytest.raises(TypeError, match="sub-class"):
        resolvers.UnionClusterResolver("a:1")

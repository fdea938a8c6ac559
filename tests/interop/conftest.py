"""TensorFlow beside Millrace: real clients, real servers, in every combination.

These tests run under the interpreter that `tools/tensorflow` makes; `tools/test` does that. When that
environment can't be had, every test here is skipped with the reason, and `tools/test` says so again at
the end.
"""

import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# TensorFlow has the same kernels on every processor then; else some lack oneDNN's, as those for NCHW.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
# A proxy for the outside world is none for tasks on this machine; gRPC would ask it.
os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*"

try:
    import tensorflow as tf
except ImportError as error:
    tf = None
    REASON = os.environ.get("MILLRACE_NO_TENSORFLOW") or f"TensorFlow is not here: {error}"
    collect_ignore_glob = ["test_*.py"]  # they import TensorFlow, so they can't even be read
    if os.environ.get("MILLRACE_NO_TENSORFLOW") is None:
        REASON += (
            "; run the tests with `make test`, or: $(tools/tensorflow) -m pytest tests/interop"
        )

if tf is not None:
    from border import Border
    from tasks import Cluster, Zygote

    tf.compat.v1.disable_v2_behavior()


def pytest_addoption(parser):
    parser.addoption(
        "--op-cases",
        type=int,
        default=1500,
        help="how many single ops with values are compared with TensorFlow",
    )
    parser.addoption(
        "--random-graphs",
        type=int,
        default=40,
        help="how many random graphs of several ops are compared with TensorFlow",
    )
    parser.addoption(
        "--servers",
        choices=["millrace", "tensorflow"],
        default="millrace",
        help="whose servers stand in for Millrace's; a test that fails on TensorFlow's own is untrue",
    )


def pytest_report_header():
    return f"TensorFlow {tf.__version__}" if tf else f"LEFT OUT, all of them: {REASON}"


@pytest.fixture
def cluster(tmp_path, zygote, request):
    """cluster(ps=1, worker=2, tf=["worker:1"]) -> a running Cluster; its tasks end with the test."""
    made = []

    def start(tf=(), **jobs):
        made.append(Cluster(tmp_path, jobs, tensorflow=tf, zygote=zygote))
        if request.config.getoption("servers") == "tensorflow":
            made[-1].tensorflow = set(made[-1].addresses)
        made[-1].start_all()
        return made[-1]

    yield start
    for each in made:
        each.stop()


@pytest.fixture
def target(cluster):
    """The target of a fresh Millrace server: a cluster of one task, /job:worker/task:0."""
    return cluster(worker=1).target("worker")


@pytest.fixture
def connect(cluster):
    """connect(target, ...) -> a session; it ends with the test, before the tasks do.

    For tests that can't say `with`: the client waits without end to close a session whose task is gone.
    """
    made = []

    def start(*arguments, **named):
        made.append(tf.compat.v1.Session(*arguments, **named))
        return made[-1]

    yield start
    for each in made:
        try:
            each.close()
        except tf.errors.AbortedError:
            pass  # the server has forgotten it


@pytest.fixture(scope="session")
def zygote(tmp_path_factory):
    """Starts TensorFlow servers without paying for the import each time."""
    with Zygote(tmp_path_factory.mktemp("zygote")) as started:
        yield started


@pytest.fixture
def control_flow_v2():
    """Conditionals and loops are nodes that call functions, as they are by default today."""
    tf.compat.v1.enable_control_flow_v2()
    yield
    tf.compat.v1.disable_control_flow_v2()


@pytest.fixture
def graph():
    """A fresh default graph."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(params=["millrace", "tensorflow"])
def border(request, cluster, graph):
    """A cluster of one task of each kind; the parameter says which is the master."""
    return Border(cluster(worker=2, tf=["worker:1"]), master=request.param)

"""tf.test beside TestCase: clusters, stubs, benchmarks; and tf.resource_loader."""

import os
import subprocess
import sys

import pytest

import millrace as tf


def test_a_small_cluster_stands_in_this_process():
    workers, stores = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    assert len(workers) == 2 and len(stores) == 1
    with tf.device("/job:ps/task:0"):
        total = tf.Variable(1, name="total")
    with tf.device("/job:worker/task:1"):
        made = total * 10
    with tf.Session(workers[0].target) as first, tf.Session(workers[1].target) as second:
        first.run(total.initializer)
        first.run(tf.assign_add(total, 1))
        assert second.run(made) == 20
    for server in [*workers, *stores]:
        server.stop()
    assert not any(name.startswith("MILLRACE_LISTEN") for name in os.environ)
    with pytest.raises(ValueError, match="at least one task"):
        tf.test.create_local_cluster(0, 0)


class Base:
    @staticmethod
    def name():
        return "base"


class Derived(Base):
    pass


def test_what_was_replaced_comes_back():
    exists = os.path.exists
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(os.path, "exists", lambda path: "first")
        stubs.Set(os.path, "exists", lambda path: "second")
        stubs.SmartSet(Derived, "name", staticmethod(lambda: "stub"))
        assert os.path.exists("/") == "second" and Base.name() == Derived().name() == "stub"
        with pytest.raises(AttributeError):
            stubs.Set(os.path, "no_such_name", None)
        with pytest.raises(AttributeError, match="not found"):
            stubs.SmartSet(Derived(), "no_such_name", None)
    assert os.path.exists is exists and Base.name() == Derived.name() == Derived().name() == "base"
    assert "name" not in vars(Derived)


def test_benchmarks_tell_how_long_a_run_takes(session, capsys):
    class Adding(tf.test.Benchmark):
        def benchmark_add(self):
            return self.run_op_benchmark(session, tf.constant(1) + 2, min_iters=3, mbs=1)

    found = Adding().benchmark_add()
    assert found["iters"] == 3 and found["wall_time"] > 0 and found["throughput"] > 0
    line = capsys.readouterr().out
    assert line.startswith('entry {"name": "Adding.benchmark_add"') and '"wall_time"' in line
    assert tf.test.benchmark_config().graph_options.rewrite_options.disable_meta_optimizer


def test_a_program_runs_the_benchmarks_that_it_is_asked_for(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import millrace as tf\n"
        "class Some(tf.test.Benchmark):\n"
        "    def benchmark_one(self): self.report_benchmark(wall_time=0.5)\n"
        "    def benchmark_two(self): self.report_benchmark(wall_time=0.25)\n"
        "tf.test.main()\n"
    )
    done = subprocess.run(
        [sys.executable, program, "--benchmarks=Some.*two"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == 'entry {"name": "Some.benchmark_two", "wall_time": 0.25}\n'


def test_files_lie_beside_the_program_that_asks():
    here = os.path.dirname(os.path.abspath(__file__))
    assert tf.resource_loader.get_data_files_path() == here
    assert tf.resource_loader.get_path_to_datafile("x.txt") == os.path.join(here, "x.txt")
    assert b"tf.resource_loader" in tf.resource_loader.load_resource("resource_loader.py")
    with pytest.raises(OSError):
        tf.resource_loader.load_resource("no/such/file")

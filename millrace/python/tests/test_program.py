"""What programs use beside graphs: flags, logging, files, tf.app."""

import subprocess
import sys
import threading
import time
import types

import pytest

import millrace as tf
from millrace import _millrace
from millrace._files import paths

PROGRAM = """
import millrace as tf

tf.flags.DEFINE_string("job_name", "", "which job")
tf.flags.DEFINE_integer("task_index", 0, "which task")
tf.flags.DEFINE_boolean("sync", False, "all at once")
tf.app.flags.DEFINE_list("ps_hosts", [], "addresses")
FLAGS = tf.flags.FLAGS

def main(argv):
    print(FLAGS.job_name, FLAGS.task_index, FLAGS.sync, FLAGS.ps_hosts, argv[1:])
    tf.logging.warning("careful: %d", 7)
    return 3

tf.app.run()
"""


def test_a_program_with_flags(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [
            sys.executable,
            path,
            *"--job_name=ps --task_index 2 --sync --ps_hosts=a:1,b:2 more".split(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "ps 2 True ['a:1', 'b:2'] ['more']\n", done.stderr
    assert "WARNING:careful: 7" in done.stderr
    assert done.returncode == 3


def test_files_by_tensorflows_names(tmp_path):
    path = str(tmp_path / "a.txt")
    with tf.gfile.Open(path, "w") as file:
        file.write("ä")
    tf.gfile.Copy(path, path + "2")
    with pytest.raises(FileExistsError):
        tf.gfile.Copy(path, path + "2")
    assert tf.gfile.Glob(str(tmp_path / "a*")) == [path, path + "2"]
    assert tf.gfile.GFile(path, "rb").read() == "ä".encode()


def test_a_local_file_may_be_named_with_its_scheme(tmp_path):
    path = str(tmp_path / "a.txt")
    with tf.gfile.Open(f"file://{path}", "w") as file:
        file.write("one\ntwo\n")
    with open(path) as file:
        assert file.read() == "one\ntwo\n"
    with tf.gfile.Open(f"file://{path}") as file:
        assert [line for line in file] == ["one\n", "two\n"]
    assert tf.gfile.Glob(f"file://{tmp_path}/*") == [f"file://{path}"]
    with pytest.raises(FileNotFoundError) as raised:
        tf.gfile.Open(f"file://{path}2").read()
    assert isinstance(raised.value, tf.errors.NotFoundError)
    tf.gfile.Remove(f"file://{path}")
    assert not tf.gfile.Exists(path)


def test_names_as_a_session_gives_them_may_have_a_scheme(tmp_path):
    folder = f"file://{tmp_path}".encode()
    tf.gfile.MkDir(folder + b"/d")
    with tf.gfile.GFile(folder + b"/d/a", "w") as file:
        file.write("one")
    with tf.Session() as session:
        [name] = session.run(tf.matching_files(folder + b"/d/*"))
    assert name == folder + b"/d/a" and tf.gfile.Exists(name)
    tf.gfile.Copy(name, name + b"2")
    assert tf.gfile.GFile(name + b"2").read() == "one" and tf.gfile.Stat(name).length == 3
    assert [names for _, _, names in tf.gfile.Walk(folder)] == [[], ["a", "a2"]]
    tf.gfile.DeleteRecursively(folder + b"/d")
    assert not (tmp_path / "d").exists()


def test_a_remote_file_is_written_by_one_thread_at_a_time(monkeypatch):
    class Counting:
        inside = most = 0

        def _work(self, *_):
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(0.001)
            self.inside -= 1

        append = flush = close = _work

    counting = Counting()
    files = types.SimpleNamespace(create=lambda _: counting)
    monkeypatch.setattr(_millrace, "files", files)
    with paths.open_file("s3://bucket/key", "wb") as file:

        def work():
            for _ in range(20):
                file.write(bytes(300_000))
                file.flush()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert counting.most == 1


def test_importing_is_all_that_a_program_needs():
    """No part of the package is missing when it is used by its full name."""
    code = (
        "import millrace.compat.v1 as tf; tf.train.Server; tf.contrib.learn.RunConfig; tf.nn.relu"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_version_is_told():
    assert tf.__version__ == tf.VERSION and tf.__version__[0].isdigit()

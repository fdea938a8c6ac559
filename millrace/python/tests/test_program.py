"""What programs use beside graphs: flags, logging, files, tf.app."""

import subprocess
import sys

import pytest

import millrace as tf

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


def test_importing_is_all_that_a_program_needs():
    """No part of the package is missing when it is used by its full name."""
    code = (
        "import millrace.compat.v1 as tf; tf.train.Server; tf.contrib.learn.RunConfig; tf.nn.relu"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_version_is_told():
    assert tf.__version__ == tf.VERSION and tf.__version__[0].isdigit()

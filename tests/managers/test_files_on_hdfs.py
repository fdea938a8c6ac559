"""Files on a real HDFS, which tools/hdfs-cluster runs on this machine, through what programs use files by."""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / "stores"), str(ROOT / "tests" / "cluster")]

from started_tasks import Cluster  # noqa: E402
from store_programs import run  # noqa: E402

CLUSTER = ROOT / "tools" / "hdfs-cluster"
NOT_THERE = 3
GETTING_IT = 960  # once on a machine


@pytest.fixture(scope="module")
def hdfs():
    """ "webhdfs://HOST:PORT" of an empty HDFS."""
    built = subprocess.run([CLUSTER, "build"], capture_output=True, text=True, timeout=GETTING_IT)
    if built.returncode == NOT_THERE:
        pytest.skip(f"LEFT OUT, files on a real HDFS: {built.stderr}")
    folder = Path(tempfile.mkdtemp(prefix="hdfs-"))
    up = subprocess.run([CLUSTER, "up", folder], capture_output=True, text=True, timeout=400)
    try:
        if up.returncode == NOT_THERE:
            pytest.skip(f"LEFT OUT, files on a real HDFS: {up.stderr}")
        assert up.returncode == 0, up.stderr
        yield re.search("WEBHDFS=(.*)", up.stdout)[1]
    finally:
        subprocess.run([CLUSTER, "down", folder], check=True, timeout=60)
        shutil.rmtree(folder)


@pytest.fixture
def place(hdfs, request):
    """Variables of a program: the user that the cluster is of, and a folder of the test's own."""
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    return {"HADOOP_USER_NAME": user, "FOLDER": f"{hdfs}/{request.node.name}"}


def test_gfile_knows_files_and_folders_of_hdfs(place):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        g = tf.gfile
        print(g.Exists(folder))
        g.MakeDirs(folder + "/d")
        print(g.IsDirectory(folder), g.ListDirectory(folder))
        with g.GFile(folder + "/d/a b+c%.txt", "w") as file:
            file.write("one\\n")
            file.flush()
            print(g.Stat(folder + "/d/a b+c%.txt").length)
            file.write("two\\n")
        with g.GFile(folder + "/d/a b+c%.txt", "a") as file:
            file.write("three")
        with g.GFile(folder + "/d/a b+c%.txt") as file:
            print(file.readlines(), file.size())
        with g.GFile(folder + "/d/other", "w") as file:
            pass
        g.Rename(folder + "/d/a b+c%.txt", folder + "/d/other", overwrite=True)
        print(g.Stat(folder + "/d/other").length, g.Stat(folder + "/d/other").mtime_nsec > 1e18)
        print([os.path.basename(path) for path in g.Glob(folder + "/?/*")])
        code_of(lambda: g.GFile(folder + "/none").read())
        code_of(lambda: g.Remove(folder + "/none"))
        code_of(lambda: g.GFile(folder + "/d").read())
        g.DeleteRecursively(folder)
        print(g.Exists(folder))
        """,
        **place,
    )
    lines = said.splitlines()
    assert lines[:6] == [
        "False",
        "True ['d']",
        "4",
        "['one\\n', 'two\\n', 'three'] 13",
        "13 True",
        "['other']",
    ]
    assert lines[6].startswith(f"NotFoundError | {place['FOLDER']}/none; GET GETFILESTATUS http://")
    assert "FileNotFoundException" in lines[6]
    assert lines[7].startswith("NotFoundError | ")
    assert lines[8].startswith("FailedPreconditionError | ")
    assert lines[9] == "False"


def test_a_large_file_is_continued_and_comes_back_byte_for_byte(place):
    said = run(
        """
        import hashlib, os
        path = os.environ["FOLDER"] + "/large"
        piece = bytes(range(256)) * 4096
        wanted = hashlib.sha256()
        with tf.gfile.GFile(path, "wb") as file:
            for i in range(37):
                file.write(piece)
                wanted.update(piece)
        found = hashlib.sha256()
        with tf.gfile.GFile(path, "rb") as file:
            for part in iter(lambda: file.read(777_777), b""):
                found.update(part)
        print(tf.gfile.Stat(path).length, found.digest() == wanted.digest())
        """,
        **place,
    )
    assert said.split() == [str(37 << 20), "True"]


def test_records_and_events_are_read_back(place):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        with tf.python_io.TFRecordWriter(folder + "/records") as writer:
            for i in range(5):
                writer.write(b"record %d" % i)
        names = tf.matching_files(folder + "/rec*")
        record = tf.data.TFRecordDataset(folder + "/records").make_one_shot_iterator().get_next()
        writer = tf.summary.FileWriter(folder)
        for step in range(3):
            writer.add_summary(
                tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=step / 2)]), step)
            writer.flush()
        writer.close()
        [events] = tf.gfile.Glob(folder + "/*tfevents*")
        with tf.Session() as session:
            print(len(session.run(names)), session.run(record))
        print(sum(event.HasField("summary") for event in tf.train.summary_iterator(events)))
        """,
        **place,
    )
    assert said.splitlines() == ["1 b'record 0'", "3"]


def test_a_checkpoint_is_saved_over_and_restored(place):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        value = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        saver = tf.train.Saver(max_to_keep=2)
        with tf.Session() as session:
            session.run(value.initializer)
            for step in (1, 2, 3, 3):
                session.run(value.assign([step, 0.5]))
                saver.save(session, folder + "/model", global_step=step)
            session.run(value.assign([0.0, 0.0]))
            newest = tf.train.latest_checkpoint(folder)
            saver.restore(session, newest)
            print(os.path.basename(newest), session.run(value))
        names = tf.gfile.ListDirectory(folder)
        print(sorted(name for name in names if name.endswith(".index")))
        print(any("tempstate" in name for name in names))
        """,
        **place,
    )
    assert said.splitlines() == ["model-3 [3.  0.5]", "['model-2.index', 'model-3.index']", "False"]


def test_a_job_of_two_processes_goes_on_from_the_checkpoint_that_it_left_in_hdfs(place, tmp_path):
    steps = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        cluster, until = Cluster(folder, {"ps": 1, "worker": 1}), folder / "until"
        command = [sys.executable, ROOT / "tests" / "cluster" / "trainer.py", "--until", until]
        command += ["--checkpoints", place["FOLDER"]]
        user = {"HADOOP_USER_NAME": place["HADOOP_USER_NAME"]}
        try:
            cluster.start("ps", 0, command, **user)
            worker = cluster.start("worker", 0, command, **user)
            worker.wait_for("step ")
            until.touch()
            assert worker.wait() == 0, worker.output()
            steps.append([int(n) for n in re.findall("^step ([0-9]+)", worker.output(), re.M)])
        finally:
            cluster.stop()
    assert steps[1][0] == steps[0][-1] + 1, steps


def test_who_may_not_is_told(place):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        code_of(lambda: tf.gfile.MakeDirs(folder))
        """,
        **{**place, "HADOOP_USER_NAME": "nobody-in-particular"},
    )
    assert said.startswith("PermissionDeniedError | "), said

"""Files on an S3 server, through everything that programs use files by."""

import subprocess
import sys

from started_tasks import Cluster, millrace_command

from store_programs import DEADLINE, ROOT, environment, run


def test_gfile_knows_remote_files_and_folders_as_it_knows_local_ones(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        g = tf.gfile
        print(g.Exists(folder), g.IsDirectory(folder))
        g.MakeDirs(folder + "/d")
        print(g.IsDirectory(folder), g.IsDirectory(folder + "/d"), g.ListDirectory(folder + "/d"))
        with g.GFile(folder + "/d/a b+c.txt", "w") as file:
            file.write("one\\ntwo\\u00e9\\n")
        with g.GFile(folder + "/d/a b+c.txt", "a") as file:
            file.write("three")
        with g.GFile(folder + "/d/a b+c.txt") as file:
            print([line.rstrip() for line in file], file.size())
        with g.GFile(folder + "/d/a b+c.txt", "rb") as file:
            file.seek(4)
            print(file.read(3), file.tell())
        print(g.Stat(folder + "/d/a b+c.txt").length, g.Stat(folder + "/d/a b+c.txt").mtime_nsec > 1e18)
        g.Copy(folder + "/d/a b+c.txt", folder + "/d/copy")
        code_of(lambda: g.Copy(folder + "/d/a b+c.txt", folder + "/d/copy"))
        g.Rename(folder + "/d/copy", folder + "/d/moved", overwrite=True)
        print([os.path.basename(path) for path in g.Glob(folder + "/*/*")])
        print([(len(path), folders, names) for path, folders, names in g.Walk(folder)][-1][1:])
        code_of(lambda: g.Remove(folder + "/d/copy"))
        code_of(lambda: g.GFile(folder + "/none").read())
        code_of(lambda: g.ListDirectory(folder + "/none"))
        g.DeleteRecursively(folder)
        print(g.Exists(folder))
        """,
        **s3,
    )
    assert said.splitlines()[:7] == [
        "False False",
        "True True []",
        "['one', 'two\u00e9', 'three'] 15",
        "b'two' 7",
        "15 True",
        f"AlreadyExistsError | file already exists: {s3['FOLDER']}/d/copy",
        "['a b+c.txt', 'moved']",
    ]
    assert said.splitlines()[7] == "([], ['a b+c.txt', 'moved'])"
    for line in said.splitlines()[8:11]:
        assert line.startswith("NotFoundError | "), line
    assert said.splitlines()[11] == "False"


def test_events_go_out_as_time_passes_and_not_by_their_number(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        writer = tf.summary.FileWriter(folder, max_queue=2)
        [events] = tf.gfile.Glob(folder + "/*tfevents*")
        begun = tf.gfile.Stat(events).length
        for step in range(20):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1)]), step)
        print(tf.gfile.Stat(events).length == begun)
        writer.flush()
        print(tf.gfile.Stat(events).length > begun)
        writer.close()
        """,
        **s3,
    )
    assert said.split() == ["True", "True"]


def test_a_large_file_goes_up_in_parts_and_comes_back_byte_for_byte(s3):
    said = run(
        """
        import hashlib, os
        path = os.environ["FOLDER"] + "/large"
        piece = bytes(range(256)) * 4096
        wanted = hashlib.sha256()
        with tf.gfile.GFile(path, "wb") as file:
            for i in range(21):
                file.write(piece)
                wanted.update(piece)
                if i == 10:
                    file.flush()
                    print(tf.gfile.Stat(path).length)
        with tf.gfile.GFile(path, "ab") as file:
            file.write(b"end")
        wanted.update(b"end")
        found = hashlib.sha256()
        with tf.gfile.GFile(path, "rb") as file:
            for part in iter(lambda: file.read(777_777), b""):
                found.update(part)
        print(tf.gfile.Stat(path).length, found.digest() == wanted.digest())
        tf.gfile.Rename(path, path + "2")
        print(tf.gfile.Exists(path), tf.gfile.Stat(path + "2").length)
        """,
        **s3,
    )
    size = 21 * (1 << 20) + 3
    assert said.splitlines() == [str(11 << 20), f"{size} True", f"False {size}"]


def test_more_names_than_a_page_holds_are_all_listed(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        for i in range(1003):
            with tf.gfile.GFile(f"{folder}/{i:04}", "w") as file:
                pass
        names = tf.gfile.ListDirectory(folder)
        print(len(names), len(set(names)), len(tf.gfile.Glob(folder + "/0*")))
        """,
        **s3,
    )
    assert said.split() == ["1003", "1003", "1000"]


def test_records_lines_and_whole_files_are_read_by_graphs(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        for packed in ("", "GZIP", "ZLIB"):
            options = tf.python_io.TFRecordOptions(
                getattr(tf.python_io.TFRecordCompressionType, packed or "NONE"))
            with tf.python_io.TFRecordWriter(f"{folder}/records{packed}", options) as writer:
                for i in range(5):
                    writer.write(b"record %d" % i)
            print(len(list(tf.python_io.tf_record_iterator(f"{folder}/records{packed}", options))))
            dataset = tf.data.TFRecordDataset(f"{folder}/records{packed}", packed)
            records = dataset.make_one_shot_iterator().get_next()
            with tf.Session() as session:
                print([session.run(records) for _ in range(5)][-1])
        with tf.gfile.GFile(folder + "/lines.txt", "w") as file:
            file.write("a\\nb\\n")
        found = tf.matching_files(folder + "/rec*")
        lines = tf.data.TextLineDataset([folder + "/lines.txt"]).make_one_shot_iterator().get_next()
        whole = tf.read_file(folder + "/lines.txt")
        written = tf.write_file(folder + "/sub/written", "by a graph")
        with tf.Session() as session:
            print(len(session.run(found)), session.run(lines), session.run(whole))
            session.run(written)
            print(session.run(tf.read_file(folder + "/sub/written")))
            code_of(lambda: session.run(tf.read_file(folder + "/none")))
        """,
        **s3,
    )
    lines = said.splitlines()
    assert lines[:6] == ["5", "b'record 4'"] * 3
    assert lines[6:8] == ["3 b'a' b'a\\nb\\n'", "b'by a graph'"]
    assert lines[8].startswith("NotFoundError | ")


def test_slim_finds_its_data_in_a_store_and_traces_steps_into_it(s3):
    said = run(
        """
        import os
        from millrace.contrib import slim
        folder = os.environ["FOLDER"]
        for name in "ab":
            with tf.gfile.GFile(f"{folder}/data-{name}", "w") as file:
                file.write(name)
        files = slim.parallel_reader.get_data_files([folder + "/data-*", folder + "/more"])
        print(*(os.path.basename(file) for file in files))
        step = tf.train.get_or_create_global_step()
        with tf.Session() as session:
            session.run(step.initializer)
            slim.learning.train_step(
                session, tf.constant(1.0), step,
                {"should_trace": tf.constant(True), "logdir": folder + "/logs"})
        [trace] = tf.gfile.Glob(folder + "/logs/tf_trace-0.json")
        print(tf.gfile.Stat(trace).length > 0, os.path.exists("s3:"))
        """,
        **s3,
    )
    assert said.splitlines() == ["data-a data-b more", "True False"]


def test_columns_of_csv_files_are_learned_from_remote_ones(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        for name, row in (("a", "1,x"), ("b", "2,y")):
            with tf.gfile.GFile(f"{folder}/{name}.csv", "w") as file:
                file.write(f"id,name\\n{row}\\n")
        rows = tf.data.experimental.make_csv_dataset(
            folder + "/*.csv", 2, num_epochs=1, shuffle=False)
        print(rows.output_types["id"], rows.output_types["name"])
        element = rows.make_one_shot_iterator().get_next()
        with tf.Session() as session:
            found = session.run(element)
        print(found["id"].tolist(), found["name"].tolist())
        """,
        **s3,
    )
    assert said.splitlines() == [
        "<dtype: 'int32'> <dtype: 'string'>",
        "[1, 2] [b'x', b'y']",
    ]


def test_events_are_seen_at_each_flush_and_inspected(s3):
    said = run(
        """
        import os
        folder = os.environ["FOLDER"]
        writer = tf.summary.FileWriter(folder)
        for step in range(3):
            writer.add_summary(
                tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=step / 2)]), step)
            writer.flush()
            [path] = tf.gfile.Glob(folder + "/*tfevents*")
            print(sum(event.HasField("summary") for event in tf.train.summary_iterator(path)))
        writer.close()
        """,
        **s3,
    )
    assert said.split() == ["1", "2", "3"]
    shown = _inspect(s3, s3["FOLDER"])
    assert "loss" in shown


def _inspect(s3, path):
    done = subprocess.run(
        [millrace_command(), "inspect", path],
        env=environment(**s3),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


SAVING = """
    import os
    folder = os.environ["FOLDER"]
    value = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
    text = tf.get_variable("t", initializer=tf.constant(["a", "b"]))
    saver = tf.train.Saver(max_to_keep=2)
"""


def test_a_checkpoint_is_saved_kept_found_read_and_restored(s3):
    run(
        SAVING
        + """
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(4):
            session.run(value.assign([step, step + 0.5]))
            saver.save(session, folder + "/model", global_step=step)
        saver.save(session, folder + "/model", global_step=3)  # over one that is there
    """,
        **s3,
    )
    said = run(
        SAVING
        + """
    newest = tf.train.latest_checkpoint(folder)
    print(newest)
    print(tf.train.list_variables(folder))
    print(tf.train.load_variable(newest, "v"))
    with tf.Session() as session:
        saver.restore(session, newest)
        print(session.run(value), session.run(text))
    print(sorted(n.split(".", 1)[0] for n in tf.gfile.ListDirectory(folder) if n.endswith(".index")))
    print(any("tempstate" in n for n in tf.gfile.ListDirectory(folder)))
    """,
        **s3,
    )
    assert said.splitlines() == [
        f"{s3['FOLDER']}/model-3",
        "[('t', [2]), ('v', [2])]",
        "[3.  3.5]",
        "[3.  3.5] [b'a' b'b']",
        "['model-2', 'model-3']",
        "False",
    ]
    assert "v" in _inspect(s3, f"{s3['FOLDER']}/model-3")


def test_a_job_of_two_processes_goes_on_from_the_checkpoint_that_it_left_in_a_store(s3, tmp_path):
    def train(name):
        folder = tmp_path / name
        folder.mkdir()
        cluster, until = Cluster(folder, {"ps": 1, "worker": 1}), folder / "until"
        trainer = ROOT / "tests" / "cluster" / "trainer.py"
        command = [sys.executable, trainer, "--until", until, "--checkpoints", s3["FOLDER"]]
        variables = {name: value for name, value in s3.items() if name != "FOLDER"}
        try:
            cluster.start("ps", 0, command, **variables)
            worker = cluster.start("worker", 0, command, **variables)
            worker.wait_for("step 60 " if name == "first" else "step ")
            until.touch()
            assert worker.wait() == 0, worker.output()
            return worker.output()
        finally:
            cluster.stop()

    first = train("first")
    last = [line for line in first.splitlines() if line.startswith("step ")][-1]
    second = train("second")
    begin = [line for line in second.splitlines() if line.startswith("step ")][0]
    assert int(begin.split()[1]) == int(last.split()[1]) + 1, f"{first}\n{second}"


def test_a_server_that_is_asked_without_keys_and_one_that_is_not_there_are_told(s3):
    said = run(
        """
        code_of(lambda: tf.gfile.Exists("s3://bucket/a"))
        code_of(lambda: tf.gfile.GFile("gs://bucket/a").read())
        """,
        AWS_ENDPOINT_URL="http://127.0.0.1:1",
        MILLRACE_REMOTE_TRIES="2",
    )
    gone, unknown = said.splitlines()
    assert gone.startswith("UnavailableError | s3://bucket/a; HEAD http://127.0.0.1:1/bucket/a: ")
    assert gone.endswith("after 2 tries")
    assert unknown.startswith("UnimplementedError | gs://bucket/a")

"""`millrace inspect`, the command: what it prints and how it ends; what it knows is tested beside the module."""

import subprocess

import millrace as tf


def test_it_tells_prints_and_compares(millrace, tmp_path):
    paths = []
    for value in (1.0, 2.0):
        with tf.Graph().as_default(), tf.Session() as session:
            variable = tf.Variable(value, name="w")
            session.run(variable.initializer)
            paths.append(tf.train.Saver().save(session, str(tmp_path / f"m{value:g}")))

    def inspect(*words):
        done = subprocess.run([millrace, "inspect", *words], capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines(), done.stderr

    assert inspect(paths[0])[1][1] == "w  float32  []  4 bytes"
    assert inspect(paths[0], "--name", "w") == (0, ["w  float32  []", "1."], "")
    code, lines, _ = inspect(paths[0], "--compare", paths[1])
    assert (code, lines) == (1, ["w: 1 of 1 differ, by 1 at most"])
    assert inspect(paths[0], "--compare", paths[1], "--tolerance", "1") == (
        0,
        ["no difference"],
        "",
    )
    code, lines, complaint = inspect(str(tmp_path / "none"))
    assert code == 2 and not lines and complaint.startswith("millrace inspect: can't read")
    code, lines, _ = inspect("--help")
    assert code == 0 and any("Exit codes: 0" in line for line in lines)
    assert inspect(paths[0], "--tolerance", "-1")[0] == 2

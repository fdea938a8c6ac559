"""Programs that tests run beside a store: each in a process of its own, which reads its settings once."""

import os
import pathlib
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 120.0  # seconds; a bound on hangs, not a measure of speed

_HEAD = """
import millrace as tf

def code_of(work):
    try:
        work()
    except tf.errors.OpError as error:
        print(type(error).__mro__[1].__name__ if "errors" not in type(error).__module__
              else type(error).__name__, "|", error.message)
    else:
        print("OK")
"""

# None of whoever runs the tests.
_OURS = ("AWS_", "S3_", "HADOOP_", "MILLRACE_")


def environment(**more):
    """The variables of this process, without those that name stores and keys, and with `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    kept["HOME"] = "/nonexistent"
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", **more}


def run(program, **variables):
    """What a program prints that has millrace as tf; an AssertionError with its output if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", _HEAD + textwrap.dedent(program)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

"""For programs of this folder: runs them under the interpreter that has TensorFlow."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tensorflow(program, old=False):
    """Starts `program`, the one that is running, again beside TensorFlow, unless it is already.

    `old`: beside TensorFlow 1, under a Python of its time.
    """
    command = [str(ROOT / "tools" / "tensorflow"), "--check"] + ["--old"] * old
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode:
        print(f"{program}: {found.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    python = found.stdout.strip()
    if pathlib.Path(sys.prefix) != pathlib.Path(python).parents[1]:
        os.execv(python, [python, *sys.argv])


def quiet():
    """What TensorFlow reads when it is imported, and what gRPC reads: no chatter, no proxy."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")  # as conftest.py says
    # A proxy for the outside world is none for tasks on this machine; gRPC would ask it.
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = "*"
    os.environ.pop("TF_CONFIG", None)
    # TensorFlow 2 sets it for its own process, and TensorFlow 1 would behave as it in a child.
    os.environ.pop("TF2_BEHAVIOR", None)

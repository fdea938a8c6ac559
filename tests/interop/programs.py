"""Runs a program of this folder with TensorFlow or with Millrace, as its first argument says which."""

import subprocess
import sys

from tasks import DEADLINE, ROOT

# Tests run in the interpreter that has TensorFlow.
PYTHONS = {"tensorflow": sys.executable, "millrace": "python3"}


def printed(program, module, *arguments, deadline=DEADLINE):
    """What the program prints; it must end well."""
    path = ROOT / "tests" / "interop" / program
    done = subprocess.run(
        [PYTHONS[module], path, module, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=deadline,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout

"""Runs a program of this folder with TensorFlow or with Millrace, as its first argument says which.

The tests call `printed`; the program, in its own process, the others.
"""

import json
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


def module_named(module):
    """Millrace, or TensorFlow as its first version was."""
    if module == "millrace":
        import millrace

        return millrace
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    return tf


def print_results(programs):
    """Prints what each function gives, by its name, in a JSON object; it is called with (tf, a session)."""
    tf = module_named(sys.argv[1])
    results = {}
    for program in programs:
        with tf.Graph().as_default(), tf.Session() as session:
            results[program.__name__] = program(tf, session)
    json.dump(results, sys.stdout)

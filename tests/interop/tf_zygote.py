"""Imports TensorFlow once, then forks a server or a program for each request line.

Requests are JSON lines on the standard input: {"start": TF_CONFIG, "log": path} starts a server and
answers its pid; so does {"run": [program, argument, …], "start": TF_CONFIG, "log": path} with a Python
program; {"poll": pid} answers an exit code (negative: a signal) or null. Ends, with all that it
started, at end of input.
"""

import ctypes
import json
import os
import runpy
import signal
import sys
import traceback

# A parent's TensorFlow 2 leaves it there, and TensorFlow 1 would heed it.
os.environ.pop("TF2_BEHAVIOR", None)

import tensorflow as tf  # noqa: E402

from judge.processes import exit_code  # noqa: E402

PR_SET_PDEATHSIG = 1


def begin(log):
    """Makes the forked process one of its own, which prints to `log`."""
    os.setpgid(0, 0)
    # A time limit may kill the parent, which then can't end its servers.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def serve(config):
    indices = {
        job: {int(i): a for i, a in tasks.items()} if isinstance(tasks, dict) else tasks
        for job, tasks in config["cluster"].items()
    }
    server = tf.distribute.Server(
        tf.train.ClusterSpec(indices),
        job_name=config["task"]["type"],
        task_index=config["task"]["index"],
    )
    print("serving", server.target, flush=True)
    server.join()


def run(command, config):
    """Runs a program as its interpreter would; returns its exit code."""
    os.environ["TF_CONFIG"] = json.dumps(config)
    sys.argv = command
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def fork(request):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            begin(request["log"])
            if "run" in request:
                code = run(request["run"], request["start"])
            else:
                serve(request["start"])
        except BaseException:
            traceback.print_exc()  # whoever waits for the task shows its log
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return pid


def poll(pid):
    found, status = os.waitpid(pid, os.WNOHANG)
    return exit_code(status) if found else None


def main():
    running = set()
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            answer = poll(request["poll"])
            if answer is not None:
                running.remove(request["poll"])
        else:
            answer = fork(request)
            running.add(answer)
        print(json.dumps(answer), flush=True)
    for pid in running:  # or dead, and not yet asked for: the number is no other's
        os.kill(pid, signal.SIGKILL)


main()

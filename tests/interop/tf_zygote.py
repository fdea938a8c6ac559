"""Imports TensorFlow once, then forks a server for each request line.

Requests are JSON lines on the standard input: {"start": TF_CONFIG, "log": path} answers the pid,
{"poll": pid} its exit code (negative: a signal) or null. Ends, with all its servers, at end of input.
"""

import ctypes
import json
import os
import signal
import sys

import tensorflow as tf

PR_SET_PDEATHSIG = 1


def serve(config, log):
    os.setpgid(0, 0)
    # A time limit may kill the parent, which then can't end its servers.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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


def poll(pid):
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def main():
    started = []
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            answer = poll(request["poll"])
        else:
            answer = os.fork()
            if answer == 0:
                try:
                    serve(request["start"], request["log"])
                finally:
                    os._exit(1)
            started.append(answer)
        print(json.dumps(answer), flush=True)
    for pid in started:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


main()

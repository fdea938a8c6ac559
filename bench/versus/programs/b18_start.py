"""B18: from the start of a process to the first answer, and what a server costs that does nothing."""

import subprocess
import time

import footprint
import interpreters
from measure import Figure, Limit, milliseconds
from native import Native

TITLE = "B18 start and footprint"
START = "start of a server to its first answer, Python program"
START_COMMAND = "start of a server to its first answer, own command"


def tasks(scale):
    return 1


def numbers_of_tasks(scale):
    return scale.pick(quick=2, normal=4, full=16)


def step_everywhere(tf, servers):
    """A step in which every task has a part."""
    with tf.Graph().as_default():
        parts = []
        for index in range(len(servers.addresses)):
            with tf.device(f"/job:worker/task:{index}"):
                parts.append(tf.Variable(1.0).initializer)
        everywhere = tf.group(*parts)
        servers.wait_until_bound()
        with tf.Session("grpc://" + servers.addresses[0]) as session:
            session.run(everywhere)


class Start:
    """Milliseconds from the start of tasks to the first answer. Keeps what the first then costs idle."""

    def __init__(self, tf, library, count, command):
        self._tf, self._library, self._count, self._command = tf, library, count, command
        self.idle = {}

    def __call__(self, seconds):
        start = time.perf_counter()
        with footprint.Servers(self._library, self._count, self._command) as servers:
            step_everywhere(self._tf, servers)
            took = time.perf_counter() - start
            if self._count == 1:
                self.idle = footprint.of_idle_process(servers.pids[0])
        return took * 1e3


def client(library, target):
    def start(seconds):
        began = time.perf_counter()
        script = str(interpreters.HERE / "client_program.py")
        subprocess.run(
            [interpreters.python(library), script, library, target],
            env=interpreters.environment(library),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return (time.perf_counter() - began) * 1e3

    return start


def figures(tf, cluster, scale):
    program = footprint.program(cluster.kind)
    start = Start(tf, cluster.kind, 1, program)
    yield Figure(START, "ms", start)
    for what, unit in (("memory", "MB"), ("threads", "threads"), ("wake-ups", "wake-ups in 1 s")):
        yield Figure(f"idle server, {what}", unit, lambda seconds, w=what: start.idle[w])
    own = Start(tf, cluster.kind, 1, footprint.millrace_serve)
    there = cluster.kind == "millrace"
    yield Figure(START_COMMAND, "ms", own if there else lambda seconds: None)
    yield Figure(
        "idle server, memory, own command",
        "MB",
        lambda seconds: own.idle["memory"] if there else None,
    )
    count = numbers_of_tasks(scale)
    several = Start(tf, cluster.kind, count, program)
    yield Figure(f"start of {count} servers to a step on all of them", "ms", several)
    cold = client(cluster.client, cluster.target("worker:0"))
    yield Figure("start of a client to its first answer", "ms", cold)


def limits(scale):
    bare = milliseconds(Native("start"))
    for name in (START, START_COMMAND):
        yield Limit(name, "raw gRPC server", bare)

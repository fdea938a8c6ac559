"""What the tests of this folder need to start processes and to see them end."""

import os
import select
import signal
import sys

# What ends a test whose processes hang; nothing waits that long when all is well.
PATIENCE = 20


def default_signals():
    """The test runner may have been started with some of them ignored, which children inherit."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def command(sh=None, py=None, argv=()):
    """The argv of a task that is an sh script, a Python program, or anything."""
    if sh is not None:
        return ["sh", "-c", sh]
    if py is not None:
        return [sys.executable, "-c", py]
    return argv


def is_task(pid):
    """Unlike its children it leads its process group, and unlike the keeper not a session."""
    return os.getpgid(pid) == pid != os.getsid(pid)


def task_and_keeper(pids):
    """The one of these processes that is a task, and the one that keeps it."""
    task = next(pid for pid in pids if is_task(pid))
    with open(f"/proc/{task}/stat") as stat:
        return task, int(stat.read().rpartition(") ")[2].split()[1])


def read_until(stream, text):
    """The lines of a process, up to the first that has the text."""
    lines = []
    while not lines or text not in lines[-1]:
        lines.append(stream.readline())
        assert lines[-1], f"it ended before it said {text!r}:\n{''.join(lines)}"
    return "".join(lines)


class Lives:
    """A pipe that processes hold open: tells that they are up, and when the last one is gone."""

    def __init__(self, path):
        self.path = str(path)
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self):
        while True:
            assert select.select([self.reader], [], [], PATIENCE)[0], "the processes hang"
            try:
                return os.read(self.reader, 4096)
            except BlockingIOError:  # the last one had gone, and another has come since
                continue

    def wait_until_up(self, count):
        """The numbers of the processes."""
        seen = b""
        while seen.count(b"\n") < count:
            seen += self.read()
        return [int(number) for number in seen.split()]

    def wait_until_gone(self):
        while self.read():
            pass

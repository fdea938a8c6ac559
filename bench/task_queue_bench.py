"""Calls of a task that does nothing: many at once, sent one by one and together, and one after the other, each
waited for.

One client, one worker process, one broker. The peer is Celery with Redis, if python3-celery, python3-redis and
redis-server are there; otherwise the figures stand alone, and a line says so.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from figures import report, rounds
from millrace import tasks

ROUNDS, CALLS, PINGS = 5, 1000, 100
PATIENCE = 60  # seconds
HERE = pathlib.Path(__file__).resolve().parent


def each_of_many(noop):
    """Microseconds per call, from the first that is sent to the last result."""
    start = time.perf_counter()
    for result in [noop.delay() for _ in range(CALLS)]:
        result.get(timeout=PATIENCE)
    return (time.perf_counter() - start) / CALLS * 1e6


def each_of_a_group(noop):
    """The same, of calls that are sent together and waited for together."""
    start = time.perf_counter()
    together(noop)([noop.s() for _ in range(CALLS)])
    return (time.perf_counter() - start) / CALLS * 1e6


def together(noop):
    """A function that sends signatures of a task as a group, and waits for all."""
    if isinstance(noop, tasks.Task):
        return lambda calls: tasks.Group(calls).get(timeout=PATIENCE)
    import celery

    return lambda calls: celery.group(calls).apply_async().get(timeout=PATIENCE)


def alone(noop):
    """Microseconds from sending a call to having its result, the mean of some."""
    start = time.perf_counter()
    for _ in range(PINGS):
        noop.delay().get(timeout=PATIENCE)
    return (time.perf_counter() - start) / PINGS * 1e6


def asked(noop):
    """The same, where sending and waiting are one. Celery has no such thing."""
    if not isinstance(noop, tasks.Task):
        return alone(noop)
    start = time.perf_counter()
    for _ in range(PINGS):
        noop.s().get(timeout=PATIENCE)
    return (time.perf_counter() - start) / PINGS * 1e6


@contextlib.contextmanager
def program(*command, until=None):
    """A process that is up when a line has `until` in it, and its lines so far."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE
    ) as process:
        try:
            yield next(line for line in process.stdout if until in line)
        finally:
            process.kill()


@contextlib.contextmanager
def ours():
    """Our task, with its broker and a worker."""
    serve = ["serve", "--broker_hosts=127.0.0.1:0", "--job_name=broker", "--task_index=0"]
    with program(shutil.which("millrace"), *serve, until="serving") as line:
        os.environ["BENCH_BROKER"] = line.split()[-1]
        words = ["-m", "millrace.tasks", "work", "noop_of_millrace:app"]
        with program(sys.executable, *words, until="works on"):
            from noop_of_millrace import noop

            yield noop


@contextlib.contextmanager
def celerys():
    """Celery's task, likewise; None if it can't be had."""
    redis = shutil.which("redis-server")
    try:
        import celery  # noqa: F401
        import redis as _  # noqa: F401
    except ImportError:
        redis = None
    if redis is None:
        print("no Celery with Redis here: figures stand alone", file=sys.stderr)
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/redis"
        plain = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no"]
        with program(redis, *plain, until="eady to accept connections"):
            os.environ["BENCH_REDIS"] = f"redis+socket://{socket}"
            worker = ["-m", "celery", "-A", "noop_of_celery", "worker", "-c", "1", "-l", "INFO"]
            with program(sys.executable, *worker, until=". noop"):
                from noop_of_celery import noop

                noop.delay().get(timeout=PATIENCE)  # it is up
                yield noop


def main():
    with ours() as noop, celerys() as peer:
        for name, measure in (
            ("a no-op task of many, one client and one worker", each_of_many),
            ("the same, sent and waited for together", each_of_a_group),
            ("a no-op task alone, from sent to its result", alone),
            ("the same, sent and waited for in one step", asked),
        ):
            mine, theirs = [], []
            for is_counted in rounds(ROUNDS):
                took = measure(noop)
                its = measure(peer) if peer is not None else 0.0
                if is_counted:
                    mine.append(took)
                    theirs.append(its)
            beside = ("Celery with Redis", theirs) if peer is not None else (None, None)
            report(name, "us", mine, baseline_name=beside[0], baseline=beside[1])


if __name__ == "__main__":
    main()

"""A task queue in one process, at a time that the test sets."""

import pytest

import millrace as tf
from millrace import tasks

WAIT = 60.0  # seconds; a bound on hangs


class Clock:
    """A time that the test sets."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Bench:
    """A broker in this process, an App with a clock of its own, and its workers."""

    def __init__(self):
        self.clock = Clock()
        self.server = tf.train.Server.create_local_server()
        self.told = []
        self.workers = []
        self.app = self.another_app()

    def another_app(self, **options):
        return tasks.App(self.server.target, clock=self.clock, patience=WAIT, **options)

    def start(self, app=None, **options):
        worker = tasks.Worker(app or self.app, say=self.told.append, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    def stop(self):
        for worker in self.workers:
            worker.stop()
            worker.join()
        self.app.close()


def ended(result):
    """The TaskError that a call ended with."""
    with pytest.raises(tasks.TaskError) as raised:
        result.get(WAIT)
    return raised.value

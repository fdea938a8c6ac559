"""The task that task_queue_bench.py calls, on Redis."""

import os

from celery import Celery

app = Celery(broker=os.environ["BENCH_REDIS"], backend=os.environ["BENCH_REDIS"])


@app.task(name="noop")
def noop():
    pass

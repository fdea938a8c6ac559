"""The task that task_queue_bench.py calls, on our broker."""

import os

from millrace import tasks

app = tasks.App(f"grpc://{os.environ['BENCH_BROKER']}")


@app.task(name="noop")
def noop():
    pass

"""Tasks that the workers of test_task_workers.py run; some wait for files, by which the test holds them."""

import os
import pathlib
import time

from millrace import tasks

app = tasks.App(f"grpc://{os.environ['TASKS_BROKER']}", lease=1.0)
FOLDER = pathlib.Path(os.environ["TASKS_FOLDER"])


@app.task(name="add", attempts=100)
def add(x, y):
    return x + y


@app.task(name="hold")
def hold(name):
    """Says that it has begun, and waits for the file `name` unless an earlier attempt did."""
    attempt = tasks.current().attempt
    (FOLDER / f"{name}.begun{attempt}").write_text(str(os.getpid()))
    while attempt == 1 and not (FOLDER / name).exists():
        time.sleep(0.01)
    return attempt


@app.task(name="die", attempts=2)
def die():
    os.kill(os.getpid(), 9)


@app.task(name="note", attempts=10000)
def note(value):
    """Writes down who it is, in one line of a file that all share."""
    this = tasks.current()
    with open(FOLDER / "notes", "a") as file:
        file.write(f"{this.id} {this.attempt}\n")
    return value + 1

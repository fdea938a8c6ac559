"""How soon a job is at work, and how soon one knows of it: on this machine, with real processes.

A step on every task needs all of them to be there: their programs loaded, their servers up, their
connections made. What a job's first step takes is beside a job whose task is one `echo`.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from figures import report, rounds

MILLRACE = pathlib.Path(shutil.which("millrace"))
BIN = MILLRACE.parent
ROUNDS = 7
MANY = 2000
# What asks a manager's own files before it describes anything.
YARN_SITE = """<configuration><property><name>yarn.resourcemanager.hostname</name><value>rm</value></property></configuration>"""


def seconds_to_line(command, mark, cwd):
    """From the start of a command until it writes a line with the mark; it has to succeed."""
    start = time.perf_counter()
    seen = None
    with subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as run:
        for line in run.stdout:
            if seen is None and re.search(mark, line):
                seen = time.perf_counter() - start
    assert run.returncode == 0 and seen is not None, f"{command}: code {run.returncode}"
    return seen


def seconds_of(command, cwd, environment=None):
    """What a command takes, and how many bytes it writes."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=cwd,
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )
    return time.perf_counter() - start, len(done.stdout)


def counted_seconds(command, mark, folder):
    """seconds_to_line() in each of the rounds that count."""
    took = [(counts, seconds_to_line(command, mark, folder)) for counts in rounds(ROUNDS)]
    return [seconds for counts, seconds in took if counts]


def first_step(folder):
    """Word count's first step beyond what a job takes that only says something."""
    (folder / "text").write_text("one two three\n" * 10)
    (folder / "list").write_text(f"{folder / 'text'}\n" * 4)
    roles = ["--job", "files=1", "--job", "reduce=1", "--job", "map=2", "--until", "map"]
    words = [MILLRACE, "run", *roles, "--", BIN / "word_count", folder / "list"]
    empty = [MILLRACE, "run", "--job", "map=1", "--", "echo", "nothing"]
    beyond = []
    for is_counted in rounds(ROUNDS):
        took = seconds_to_line(words, rb"words in", folder)
        nothing = seconds_to_line(empty, rb"nothing", folder)
        if is_counted:
            beyond.append(took - nothing)
    report("word count, from run to its first step, beyond an empty task", "s", beyond, 0.5)


def step_on_all(folder, tasks):
    """From run to a step that has a part on each of so many tasks."""
    roles = ["--job", "chief=1", "--job", f"worker={tasks - 1}", "--until", "chief"]
    command = [MILLRACE, "run", *roles, "--", BIN / "step_on_every_task"]
    took = counted_seconds(command, rb"a step on %d tasks" % tasks, folder)
    report(f"{tasks} tasks, from run to a step on all", "s", took, 1)


def rendezvous(folder, tasks):
    """From run until so many processes have said where they are, and know of all others."""
    (folder / "nothing").write_text("")
    (folder / "meet.yaml").write_text(
        f"command: echo here\nfiles: [nothing]\nroles: {{worker: {tasks}}}\n"
    )
    took = counted_seconds(
        [MILLRACE, "run", "meet.yaml"], rb"all %d tasks are there" % tasks, folder
    )
    report(f"rendezvous of {tasks} processes", "s", took, 2)


def knowing(folder, tasks):
    """`explain` of a job of so many tasks for every place, and `status` of one that has ended."""
    (folder / "yarn-site.xml").write_text(YARN_SITE)
    job = f"name: many\ncommand: 'true'\nroles: {{ps: {tasks // 20}, worker: {tasks - tasks // 20}}}\n"
    (folder / "many.yaml").write_text(job)
    environment = {"HADOOP_CONF_DIR": str(folder), "MILLRACE_JOBS": str(folder / "jobs")}
    places = {
        "local": [],
        "ssh": ["--hosts", "n1,n2"],
        "k8s": ["--image", "example/train:1"],
        "slurm": [],
        "yarn": [],
    }
    for place, words in places.items():
        explain = [MILLRACE, "explain", "many.yaml", "--on", place, *words]
        took, sizes = [], []
        for is_counted in rounds(ROUNDS):
            seconds, size = seconds_of(explain, folder, environment)
            if is_counted:
                took.append(seconds)
                sizes.append(size / 1e3)
        report(f"explain of {tasks} tasks, {place}", "s", took, 0.5)
        if place not in ("local", "ssh"):
            report(f"what is submitted of {tasks} tasks, {place}", "kB", sizes, 256)
    seconds_of([MILLRACE, "submit", "many.yaml", "--on", "local"], folder, environment)
    seconds_of([MILLRACE, "wait", "many", "--on", "local"], folder, environment)
    status = [MILLRACE, "status", "many", "--on", "local"]
    took = [
        seconds
        for is_counted in rounds(ROUNDS)
        for seconds, _ in [seconds_of(status, folder, environment)]
        if is_counted
    ]
    report(f"status of {tasks} tasks, local", "s", took, 0.5)
    seconds_of([MILLRACE, "stop", "many", "--on", "local"], folder, environment)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first_step(folder)
        step_on_all(folder, 64)
        rendezvous(folder, 200)
        knowing(folder, MANY)


if __name__ == "__main__":
    main()

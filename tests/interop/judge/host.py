"""The process that stands for one module: surveys it, loads it, forks attempts at its tests."""

import fnmatch
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback

from judge import attempt, stand_ins, verdict
from judge import module as test_module
from judge.processes import exit_code, take_output

_POLL = 0.005  # seconds between looks at the processes under way


def _in_child(work):
    """What work() returns, from a process that is gone afterwards. Raises CannotLoad."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            answer = {"value": work()}
        except test_module.CannotLoad as error:
            answer = {"reason": str(error)}
        except BaseException:
            answer = {"reason": traceback.format_exc().strip().split("\n")[-1]}
        with os.fdopen(writer, "w") as pipe:
            pipe.write(json.dumps(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    code = exit_code(os.waitpid(pid, 0)[1])
    if not text:
        raise test_module.CannotLoad(f"its process ended while it was imported ({code})")
    answer = json.loads(text)
    if "reason" in answer:
        raise test_module.CannotLoad(answer["reason"])
    return answer["value"]


def wanted(names, pattern):
    """Those that hold the pattern, or match it if it has wildcards."""
    if not pattern:
        return names
    if any(c in pattern for c in "*?["):
        return [n for n in names if fnmatch.fnmatchcase(n, pattern)]
    return [n for n in names if pattern in n]


def _judged(trial, name):
    """A generator: yields while attempts are under way, returns the verdict and the attempts."""
    ours = yield from attempt.on_millrace(trial, name)
    if ours.outcome == "skipped":
        return verdict.of_skipped(ours), {"millrace": ours}
    if ours.outcome == "passed":
        return verdict.of_passed(ours), {"millrace": ours}
    attempts = {"millrace": ours}
    theirs = yield from attempt.on_tensorflow(trial, name, ours.cpu_devices)
    attempts["tensorflow"] = theirs
    # What hangs tells no more by hanging again.
    if theirs.outcome in ("passed", "skipped"):
        if ours.outcome != "hung" and not ours.missing_ops():
            attempts["again"] = yield from attempt.on_millrace(trial, name)
    elif theirs.outcome != "hung":
        attempts["in_process"] = yield from attempt.in_process(trial, name)
    given = [attempts.get(key) for key in ("tensorflow", "in_process", "again")]
    return verdict.of_failed(ours, *given), attempts


def _run_all(trial, names, jobs, tell):
    waiting = list(reversed(names))
    running = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop()
                running[name] = _judged(trial, name)
            for name, steps in list(running.items()):
                try:
                    next(steps)
                except StopIteration as done:
                    del running[name]
                    tell(name, *done.value)
            time.sleep(_POLL)
    finally:
        for steps in running.values():
            steps.close()  # ends the processes of attempts under way


def _survey(path, flags):
    take_output(os.devnull)  # a module that prints while it is imported says it to nobody
    return test_module.survey(path, flags)


def judge_module(path, options, reporter):
    """Judges the module's tests in this process. Raises CannotLoad."""
    checkout = options.tensorflow or test_module.checkout_of(path)
    stand_ins.install(checkout)
    if checkout:
        folder = pathlib.Path(checkout)
        os.environ.update(TEST_SRCDIR=str(folder.parent), TEST_WORKSPACE=folder.name)
    survey = _in_child(lambda: _survey(path, options.flags))
    names = wanted(survey["tests"], options.filter)
    reporter.begin(path, names, len(survey["tests"]))
    if survey["can_fork"]:
        loaded = test_module.load(path, options.flags)
        load = lambda: loaded  # noqa: E731
    else:
        load = lambda: test_module.load(path, options.flags)  # noqa: E731
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="judge_") as folder:
        trial = attempt.Trial(load, options.time_limit, pathlib.Path(folder))
        if options.list:
            return reporter.list()
        _run_all(trial, names, options.jobs, reporter.tell)

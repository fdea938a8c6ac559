"""One test, once, in a process of its own. A generator each: it yields while it waits."""

import dataclasses
import faulthandler
import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
import unittest

from absl import flags

from judge import module as test_module
from judge.processes import exit_code, take_output
from judge.redirect import redirect
from judge.servers import MillraceServers, TensorFlowServer
from judge.verdict import Attempt


@dataclasses.dataclass
class Trial:
    """What attempts at the tests of one module have in common. `load`: () -> the module."""

    load: object
    time_limit: float
    folder: object  # pathlib.Path; a new one for each attempt is made in it
    count: int = 0

    def new_folder(self):
        self.count += 1
        made = self.folder / str(self.count)
        (made / "tmp").mkdir(parents=True)
        return made


def on_millrace(trial, name):
    folder = trial.new_folder()
    servers = MillraceServers(folder)
    routes = {"targets": servers.target, "start_server": servers.start}
    return (yield from _attempt(trial, name, folder, routes, servers.deaths))


def on_tensorflow(trial, name, cpu_devices):
    """The servers stand beside the client, as ours do; those that a test starts itself do not."""
    folder = trial.new_folder()
    servers = {n: TensorFlowServer(folder / f"server_{n}.log", n) for n in cpu_devices or [1]}
    try:
        deadline = time.monotonic() + trial.time_limit
        while not all([server.serving() for server in servers.values()]):
            if time.monotonic() > deadline:
                return Attempt("failed", "no TensorFlow server started")
            yield
        known = {n: server.target for n, server in servers.items()}
        routes = {"targets": lambda n: known.get(n) or known[max(known)]}
        return (yield from _attempt(trial, name, folder, routes))
    finally:
        for server in servers.values():
            _end(server.pid)


def in_process(trial, name):
    return (yield from _attempt(trial, name, trial.new_folder(), {}))


def _attempt(trial, name, folder, routes, deaths=lambda: []):
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        code = 70  # for what can't be told in any other way
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            code = _run(trial, name, folder, routes, deaths)
        finally:
            os._exit(code)
    late = False
    try:
        while not _has_ended(pid):
            elapsed = time.monotonic() - started
            if elapsed > trial.time_limit and not late:
                late = True
                os.kill(pid, signal.SIGUSR1)  # writes the stacks of its threads to its output
            if elapsed > trial.time_limit + _TO_TELL:
                break
            yield
    finally:
        code = _end(pid)
    attempt = _told(folder) or _untold(folder, late, code)
    attempt.seconds = time.monotonic() - started
    shutil.rmtree(folder, ignore_errors=True)
    return attempt


_TO_TELL = 0.5  # seconds for a process that hangs to say where


def _has_ended(pid):
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(pid):
    """Kills a process and its group, which bears its number while it isn't reaped."""
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has no group yet, or none any more
            pass
    return exit_code(os.waitpid(pid, 0)[1])


def _run(trial, name, folder, routes, deaths):
    """In the child: runs the test and leaves word of how it ended."""
    take_output(folder / "output")
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    os.chdir(folder)
    os.environ["TEST_TMPDIR"] = f"{folder}/tmp/"
    record = redirect(**routes)
    result = _Result()
    try:
        module = trial.load()
        flags.FLAGS.test_tmpdir = f"{folder}/tmp"
        unittest.TestSuite([test_module.make_test(module, name)]).run(result)
    except Exception:
        result.note(sys.exc_info())
    attempt = Attempt(
        result.outcome(),
        reason="; ".join(result.reasons)[:2000],
        trace=result.trace[-8000:],
        used_servers=record.used_servers,
        started_servers=record.started_servers,
        session_errors=record.session_errors[:50],
        cpu_devices=sorted(record.cpu_devices) or [1],
        dead_servers=deaths(),
    )
    (folder / "ending").write_text(json.dumps(dataclasses.asdict(attempt)))
    (folder / "ending").rename(folder / "told")
    sys.stdout.flush()
    return 0


_ABOUT_DEFINITIONS = re.compile(
    r"^Graph execution error:\n|^Detected at node .*\n|^ +File .*\n|^ +\^+\n|^\s*\n"
    r"|^Original stack trace for (?s:.*)",
    re.MULTILINE,
)


def plain(message):
    """An error's message without TensorFlow's account of where the client built the node."""
    return _ABOUT_DEFINITIONS.sub("", message + "\n").strip()


def where(trace):
    """The frames of a traceback that are the module's own, or all if there are none."""
    frames = traceback.extract_tb(trace)
    shared = ("/unittest/", "/interop/judge/attempt.py", "/site-packages/", "/contextlib.py")
    own = [f for f in frames if not any(part in f.filename for part in shared)]
    return "".join(traceback.format_list(own or frames))


class _Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.reasons = []
        self.trace = ""
        self._wrong = False
        self._skipped = False

    def note(self, error):
        self._wrong = True
        text = plain(str(error[1])) or "no message"
        self.reasons.append(f"{error[0].__name__}: {text}")
        self.trace = where(error[2])

    def addError(self, test, error):
        self.note(error)

    def addFailure(self, test, error):
        self.note(error)

    def addSubTest(self, test, subtest, error):
        if error:
            self.note(error)

    def addUnexpectedSuccess(self, test):
        self._wrong = True
        self.reasons.append("it was expected to fail, and passed")

    def addSkip(self, test, reason):
        if not isinstance(test, unittest.case._SubTest):
            self._skipped = True
            self.reasons.append(reason)

    def outcome(self):
        return "failed" if self._wrong else "skipped" if self._skipped else "passed"


def _told(folder):
    try:
        return Attempt(**json.loads((folder / "told").read_text()))
    except FileNotFoundError:
        return None


def _untold(folder, late, code):
    output = folder / "output"
    said = output.read_text(errors="replace")[-8000:] if output.exists() else ""
    used = any(folder.glob("server_*.log"))
    if late:
        return Attempt("hung", "the time limit ended it", said, used_servers=used)
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    return Attempt("crashed", f"its process ended: {how}", said, used_servers=used)

"""What attempts at a test prove. Pure: attempts in, a verdict out."""

import dataclasses
import re

PASSED = "passed"
FAILED = "failed by us"
FAILS_TOO = "fails on TensorFlow's own grpc server too"
NEEDS_OP = "needs an op that we lack"
NOT_APPLICABLE = "not applicable"
ALL = (PASSED, FAILED, FAILS_TOO, NEEDS_OP, NOT_APPLICABLE)

_EAGER_SERVICES = "/tensorflow.eager.EagerService/"  # answered with UNIMPLEMENTED
_NO_PYTHON = "runs no Python"  # ours, of a Python function that only the client's process has
_NO_CALLBACK = "Could not find callback with key="  # TensorFlow's of the same, INVALID_ARGUMENT
_MISSING_OP = re.compile(r"Op type not registered '([^']+)'")


@dataclasses.dataclass
class Attempt:
    """How one run of one test ended. `outcome`: passed, failed, skipped, hung or crashed."""

    outcome: str
    reason: str = ""  # one line or a few: the exception, the reason for skipping, the signal
    trace: str = ""  # where it came from
    used_servers: bool = False  # whether any session ran anything, or any server was started
    started_servers: bool = False  # whether the module started one, in its own process or as if
    session_errors: list = dataclasses.field(default_factory=list)  # texts, also of caught ones
    cpu_devices: list = dataclasses.field(default_factory=lambda: [1])  # of the servers asked for
    dead_servers: list = dataclasses.field(default_factory=list)  # how ours ended, if they did
    seconds: float = 0.0

    def missing_ops(self):
        texts = [*self.session_errors, self.reason, self.trace]
        return sorted({op for text in texts for op in _MISSING_OP.findall(text)})


@dataclasses.dataclass
class Verdict:
    kind: str
    detail: str = ""
    ops: list = dataclasses.field(default_factory=list)


def of_skipped(ours):
    return Verdict(NOT_APPLICABLE, f"skipped by the test: {ours.reason or 'no reason given'}")


def of_passed(ours):
    if ours.dead_servers:
        return Verdict(FAILED, f"it passed, but {'; '.join(ours.dead_servers)}")
    if not ours.used_servers:
        return Verdict(NOT_APPLICABLE, "it passed, and no session ran anything (eager only?)")
    return Verdict(PASSED)


def of_failed(ours, theirs, in_process, again):
    """`theirs`: on a TensorFlow server; `in_process`, `again` (on ours): None if not needed."""
    if theirs.outcome in ("passed", "skipped"):
        if _EAGER_SERVICES in ours.reason:
            return Verdict(
                NOT_APPLICABLE, "eager only: it has ops run by a server's eager services"
            )
        out_of_reach = _why_python_is_out_of_reach(ours, theirs)
        if out_of_reach:
            return Verdict(NOT_APPLICABLE, out_of_reach)
        ops = ours.missing_ops()
        if ops and not ours.dead_servers:
            return Verdict(NEEDS_OP, ", ".join(ops), ops)
        detail = "; ".join([_told(ours), *ours.dead_servers])
        if again and again.outcome == "passed":
            detail += " (passed when it was run again)"
        return Verdict(FAILED, detail)
    if not ours.used_servers and not theirs.used_servers:
        return Verdict(NOT_APPLICABLE, f"it fails without any server: {_told(ours)}")
    if in_process is None:
        return Verdict(FAILS_TOO, _told(theirs))
    where = "it passes in process only" if in_process.outcome == "passed" else "in process as well"
    return Verdict(FAILS_TOO, f"{where}: {_told(theirs)}")


def _why_python_is_out_of_reach(ours, theirs):
    """What to say if a function of the client's process, and nothing else, is what ours lacked."""
    if _NO_PYTHON not in ours.reason or ours.dead_servers:
        return None
    if any(_NO_CALLBACK in text for text in theirs.session_errors):
        return (
            "it calls Python of the client's process, which no server beside it has: "
            "TensorFlow's own failed as well, with the error that the test expects of its Python"
        )
    if not ours.started_servers:
        return None
    return (
        "it calls Python of the client's process, in which it starts TensorFlow's server: "
        "a Millrace server that the judge puts there is a process of its own"
    )


def _told(attempt):
    if attempt.outcome == "failed":
        return attempt.reason
    return f"{attempt.outcome}: {attempt.reason}" if attempt.reason else attempt.outcome

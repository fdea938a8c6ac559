"""The command line of run_tf_module."""

import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile
import traceback

from judge import stand_ins
from judge.processes import exit_code

_DOC = """\
Runs TensorFlow's Python test modules with Millrace behind their sessions. Each test has a process of
its own and fresh servers; a session without a target goes to a Millrace server, servers that a module
starts in its own process are Millrace processes. What fails is tried again on TensorFlow's server:

  passed        on Millrace
  FAILED        fails on Millrace, passes on TensorFlow's own grpc server
  fails too     fails on TensorFlow's own grpc server too
  needs op      fails on Millrace for want of an op, which is named
  n/a           skipped by the test, or ran nothing in a session (eager only, GPU only)
"""

_EXAMPLES = """\
Examples:
  tests/interop/run_tf_module fifo_queue_test.py
  tests/interop/run_tf_module --filter 'FIFOQueueTest.*Close*' --time-limit 20 fifo_queue_test.py
  tests/interop/run_tf_module --v1 fifo_queue_test.py
  tests/interop/run_tf_module --old checkout-of-1.15/tensorflow/python/client/session_test.py
  tests/interop/run_tf_module --json report.json --jobs 4 checkout/tensorflow/python/client/*_test.py

A file that lies in a checkout of TensorFlow (…/tensorflow/python/…) finds the modules there that the
wheel lacks; --tensorflow names a checkout for files that lie elsewhere.

Exit codes: 0 nothing failed by us, 1 something failed by us, 2 usage, or a module can't be loaded;
130 Ctrl-C ended it, and what was judged before is told.
"""


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="run_tf_module",
        description=_DOC,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="test modules")
    parser.add_argument(
        "--filter", metavar="PATTERN", help="tests whose Class.method has or matches it"
    )
    parser.add_argument(
        "--time-limit", type=float, default=60, metavar="SECONDS", help="of an attempt (60)"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), metavar="N", help="attempts at once"
    )
    parser.add_argument("--json", metavar="FILE", help="writes everything there")
    parser.add_argument("--list", action="store_true", help="only lists the tests")
    parser.add_argument(
        "--v1",
        action="store_true",
        help="with TensorFlow 1's behaviour, for tests that skip without",
    )
    parser.add_argument(
        "--old",
        action="store_true",
        help="with the client of TensorFlow 1.15, which `tools/tensorflow --old` brings",
    )
    parser.add_argument(
        "--tensorflow", metavar="FOLDER", help="a checkout: holds tensorflow/python"
    )
    parser.add_argument(
        "--flag",
        dest="flags",
        action="append",
        default=[],
        metavar="--X=Y",
        help="for the module's absl flags",
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1 or options.time_limit <= 0:
        parser.error("--jobs and --time-limit must be positive")
    for path in options.files:
        if not os.path.isfile(path):
            parser.error(f"no such file: {path}")
    if options.tensorflow and not os.path.isdir(os.path.join(options.tensorflow, "tensorflow")):
        parser.error(f"{options.tensorflow} holds no tensorflow/")
    return options


def run(options):
    """Judges every module, each in a process of its own; returns the exit code."""
    stand_ins.before_tensorflow()
    import tensorflow  # once: all else is forked from here

    if options.v1:
        tensorflow.compat.v1.disable_v2_behavior()

    from judge import report, verdict

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    modules, refused = [], []
    with tempfile.TemporaryDirectory(prefix="judge_") as folder:
        for path in options.files:
            answer = _host(path, options, pathlib.Path(folder) / "answer")
            if "reason" in answer:
                refused.append((path, answer["reason"]))
                print(f"{path}: not loaded: {answer['reason']}", flush=True)
            else:
                modules.append(answer)
            if answer.get("interrupted"):
                print("interrupted; this is what was judged so far", flush=True)
                break
    if not options.list:
        report.print_summary(modules, refused)
    if options.json:
        whole = {
            "tensorflow": tensorflow.__version__,
            "counts": report.counts([t for m in modules for t in m["tests"]]),
            "modules": modules,
            "not_loaded": [{"file": path, "reason": reason} for path, reason in refused],
        }
        pathlib.Path(options.json).write_text(json.dumps(whole, indent=1) + "\n")
    failed = any(t["verdict"] == verdict.FAILED for m in modules for t in m["tests"])
    interrupted = any(module.get("interrupted") for module in modules)
    return 130 if interrupted else 2 if refused else 1 if failed else 0


def _host(path, options, answer):
    """Forks the host of one module; returns its report, or {"reason": why there is none}."""
    if answer.exists():
        answer.unlink()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            answer.write_text(json.dumps(_judge(path, options)))
            code = 0
        except BaseException:
            traceback.print_exc()  # a defect of the judge
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    code = exit_code(_wait(pid))
    if code:
        return {"reason": f"the process that judged it ended with {code}"}
    return json.loads(answer.read_text())


def _wait(pid):
    while True:
        try:
            return os.waitpid(pid, 0)[1]
        except KeyboardInterrupt:  # the host ends what is under way, and tells what it knows
            os.kill(pid, signal.SIGINT)


def _judge(path, options):
    from judge.host import judge_module
    from judge.module import CannotLoad
    from judge.report import ModuleReport

    report = ModuleReport()
    try:
        judge_module(pathlib.Path(path).resolve(), options, report)
    except CannotLoad as error:
        return {"reason": str(error)}
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return dict(report.as_json(), interrupted=True)
    return report.as_json()

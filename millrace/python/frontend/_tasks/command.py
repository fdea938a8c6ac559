"""python3 -m millrace.tasks: the calls on a broker, and workers for them."""

import argparse
import importlib
import json
import os
import signal
import sys
import time

from millrace._tasks import calls, errors, verdicts
from millrace._tasks.app import App
from millrace._tasks.worker import Worker

_FAILED, _MISUSED = 1, 2
_BROKER = "MILLRACE_TASKS_BROKER"

_EPILOG = f"""\
--broker may also be said by {_BROKER}.

Exit codes: 0 it was done, 1 the broker did not answer or there is no such call, 2 the command line makes
no sense."""


def _parser():
    parser = argparse.ArgumentParser(
        prog="python3 -m millrace.tasks",
        description="Look at and change the calls on a broker, and work on them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument(
        "--broker",
        metavar="HOST:PORT",
        default=os.environ.get(_BROKER),
        help="the task that keeps them",
    )
    where.add_argument("--device", help="the broker's in its cluster: /job:broker/task:0")
    where.add_argument("--name", default="tasks", help="of the App (tasks)")
    where.add_argument("--patience", type=float, default=10.0, help="seconds to wait for it (10)")

    ls = verbs.add_parser("ls", parents=[where], help="list calls, the latest first")
    ls.add_argument("--state", choices=calls.STATES, help="only those in this state")
    ls.add_argument("--task", help="only those of this task")
    ls.add_argument(
        "--most", type=int, default=50, metavar="N", help="how many at most; 0: all (50)"
    )

    inspect = verbs.add_parser("inspect", parents=[where], help="show all that is known of calls")
    inspect.add_argument("ids", nargs="+", metavar="ID")

    revoke = verbs.add_parser(
        "revoke", parents=[where], help="calls that are not begun will not be"
    )
    revoke.add_argument("ids", nargs="+", metavar="ID")

    work = verbs.add_parser("work", help="run calls until SIGTERM or Ctrl-C")
    work.add_argument("app", metavar="MODULE:APP", help="the module, and the name of the App in it")
    work.add_argument("--threads", type=int, default=1, help="how many calls at once (1)")
    work.add_argument(
        "--grace", type=float, default=10.0, help="seconds that a call may go on at the end (10)"
    )
    return parser


def main(words):
    """The exit code; the parser leaves with 2 by itself."""
    parser = _parser()
    options = parser.parse_args(words)
    try:
        if options.verb == "work":
            return _work(options)
        if not options.broker:
            parser.error(f"which broker? Give --broker HOST:PORT, or set {_BROKER}")
        target = options.broker if "://" in options.broker else f"grpc://{options.broker}"
        app = App(target, device=options.device, name=options.name, patience=options.patience)
        return {"ls": _list, "inspect": _inspect, "revoke": _revoke}[options.verb](app, options)
    except BrokenPipeError:
        sys.stderr.close()  # who read has seen enough
        return 0
    except (errors.BrokerLost, errors.NoResult) as error:
        return _told(error, _FAILED)
    except ValueError as error:
        return _told(error, _MISUSED)


def _told(error, code):
    print(f"millrace.tasks: {error}", file=sys.stderr)
    return code


# ---- Working -------------------------------------------------------------------------------------


def _work(options):
    module, _, name = options.app.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        app = getattr(importlib.import_module(module), name or "app", None)
    except ModuleNotFoundError as error:
        return _told(f"'{options.app}': {error}", _MISUSED)
    if not isinstance(app, App):
        return _told(f"'{options.app}' is no tasks.App: give MODULE:NAME of one", _MISUSED)
    work(app, options.threads, options.grace)
    return 0


def work(app, threads=1, grace=10.0):
    """Runs an App's calls in this process until SIGTERM or Ctrl-C. Only the main thread may call.

    Then it takes no more, and lets those that run go on for `grace` seconds; what is not done by then is
    given back, and another worker begins it anew.
    """
    worker = Worker(app, threads, grace, say=lambda line: print(line, flush=True))
    before = {
        number: signal.signal(number, lambda *_: worker.stop())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    print(f"{worker.name} works on {', '.join(sorted(app.tasks)) or 'no task'}", flush=True)
    try:
        worker.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    print(f"{worker.name} is done", flush=True)


# ---- Looking -------------------------------------------------------------------------------------


def _known(app):
    """{id: what is known of the call, its state as people see it}, and what the lists say besides."""
    states, running, revoked = app.broker.list()
    known = {}
    for number, text in states.items():
        state = verdicts.read_state(text)
        if not verdicts.has_ended(state):
            if number in running:
                state |= json.loads(running[number]) | {"state": calls.STARTED}
            elif number in revoked:
                state["state"] = calls.REVOKED
        known[calls.shown_id(number)] = state
    return known


def _list(app, options):
    waiting, later, lent = app.broker.sizes()
    known = sorted(_known(app).items(), key=lambda each: -each[1]["sent"])
    chosen = [
        (number, state)
        for number, state in known
        if options.state in (None, state["state"]) and options.task in (None, state["name"])
    ]
    shown = chosen[: options.most] if options.most else chosen
    now = time.time()
    rows = [("ID", "STATE", "TASK", "SENT", "RETRIES", "WORKER")]
    for number, state in shown:
        age = f"{_span(now - state['sent'])} ago"
        retries = str(state.get("retries", 0))
        rows.append((number, state["state"], state["name"], age, retries, state.get("worker", "-")))
    for line in _table(rows):
        print(line)
    left_out = f", {len(chosen) - len(shown)} not shown" if len(chosen) > len(shown) else ""
    print(
        f"{len(shown)} of {len(known)} calls{left_out}; {waiting} wait, {later} for later, {lent} taken"
    )
    for name, text in sorted(app.broker.periods().items()):
        period = json.loads(text)
        print(f"every {period['every']:g} s: {period['task']} ('{name}')")
    return 0


def _inspect(app, options):
    code = 0
    numbers = [calls.read_id(text) for text in options.ids]
    known = _known(app)
    for number in numbers:
        state = known.get(calls.shown_id(number))
        if state is None:
            code = _told(f"there is no call {calls.shown_id(number)}", _FAILED)
            continue
        print(calls.shown_id(number))
        told = dict(state)
        if verdicts.has_ended(state):
            told |= json.loads(app.broker.result(number, options.patience)[0])
        for what, value in told.items():
            if what in ("sent", "at", "since", "eta"):
                value = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
            elif what == "value":
                value = json.dumps(value)
            for i, line in enumerate(str(value).splitlines() or [""]):
                print(f"  {what + ':' if i == 0 else '':<11} {line}")
    return code


def _revoke(app, options):
    code = 0
    for number in [calls.read_id(text) for text in options.ids]:
        result = app.result(number)
        state = result.state
        if state == "UNKNOWN":
            code = _told(f"there is no call {result.id}", _FAILED)
        elif result.is_ready():
            code = _told(f"call {result.id} has ended as {state}", _FAILED)
        else:
            result.revoke()
            print(f"{result.id} was {state}, and is revoked")
    return code


def _table(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()


def _span(seconds):
    """A time as people say it: 12 s, 5 min, 3 h, 2 d."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"

"""What evaluations need beside a session: an end after so many steps, and a file with what they gave."""

import logging

import numpy as np

from millrace._summaries.file_writer import FileWriterCache
from millrace._summaries.messages import Summary
from millrace._supervised.hook import SessionRunHook

_log = logging.getLogger("millrace")


class StopAfterSteps(SessionRunHook):
    """Asks for the end after so many steps, which are counted here."""

    def __init__(self, steps):
        self._steps = steps

    def after_create_session(self, session, coord):
        self._done = 0

    def after_run(self, run_context, run_values):
        self._done += 1
        if self._done >= self._steps:
            run_context.request_stop()


def write_results(folder, results, step):
    """Writes what an evaluation gave as summaries: numbers, and summaries that metrics gave themselves."""
    made = Summary()
    for name in sorted(results):
        value = results[name]
        if value is None or name == "global_step":
            continue
        if isinstance(value, bytes):
            for number, part in enumerate(Summary.FromString(value).value):
                part.tag = f"{name}/{number}"
                made.value.append(part)
        elif np.size(value) == 1 and np.asarray(value).dtype.kind in "biuf":
            made.value.append(Summary.Value(tag=name, simple_value=float(np.asarray(value).item())))
        else:
            _log.warning("Skipping summary for %s, must be a float, an int, or a summary.", name)
    writer = FileWriterCache.get(folder)
    writer.add_summary(made, step)
    writer.flush()
    told = ", ".join(f"{name} = {results[name]}" for name in sorted(results))
    _log.info("Saving dict for global step %d: %s", step, told)

"""The threads of a Supervisor: one writes summaries, one counts steps, one saves the model."""

import logging
import time

from millrace._run.coordinator import LooperThread
from millrace._supervised import events
from millrace._train.global_steps import global_step

_log = logging.getLogger("millrace")


class SummaryThread(LooperThread):
    """Writes the summaries every save_summaries_secs."""

    def __init__(self, supervisor, sess):
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._sess = sess

    def run_loop(self):
        supervisor = self._supervisor
        if supervisor.global_step is None:
            summary, step = self._sess.run(supervisor.summary_op), None
        else:
            summary, step = self._sess.run([supervisor.summary_op, supervisor.global_step])
        _log.info("Recording summary at step %s.", step)
        supervisor.summary_writer.add_summary(summary, step)


class StepCounterThread(LooperThread):
    """Writes how many steps a second are made."""

    def __init__(self, supervisor, sess):
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._sess = sess
        self._tag = f"{supervisor.global_step.op.name}/sec"

    def start_loop(self):
        self._time, self._step = time.monotonic(), self._current()

    def _current(self):
        return global_step(self._sess, self._supervisor.global_step)

    def run_loop(self):
        now, step = time.monotonic(), self._current()
        seconds = now - self._time
        rate = (step - self._step) / seconds if seconds > 0 else float("inf")
        self._time, self._step = now, step
        self._supervisor.summary_writer.add_summary(events.scalar_value(self._tag, rate), step)
        _log.info("%s: %g", self._tag, rate)


class CheckpointThread(LooperThread):
    """Saves the model every save_model_secs."""

    def __init__(self, supervisor, sess):
        super().__init__(supervisor.coord, supervisor.save_model_secs)
        self._supervisor = supervisor
        self._sess = sess

    def run_loop(self):
        supervisor = self._supervisor
        path, writer = supervisor.save_path, supervisor.summary_writer
        _log.info("Saving checkpoint to path %s", path)
        supervisor.saver.save(self._sess, path, global_step=supervisor.global_step)
        if writer is not None and supervisor.global_step is not None:
            step = global_step(self._sess, supervisor.global_step)
            writer.add_session_log(events.session_log("CHECKPOINT", path), step)

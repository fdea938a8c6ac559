"""Supervisor: the session of a training program, with threads that save and summarize beside it.

What a program does by hand around it, MonitoredTrainingSession does by hooks.
"""

import contextlib
import logging
import os

from millrace._flow.control_flow import group
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import add_to_collection, get_collection
from millrace._graph.graph import get_default_graph
from millrace._input.queue_runner import end_filling
from millrace._run.coordinator import Coordinator, LooperThread
from millrace._saving.background_save import wait_for_save
from millrace._saving.graph_files import write_graph
from millrace._saving.meta_graph import graph_and_saver
from millrace._saving.graph_savers import default_saver
from millrace._state.tables import tables_initializer
from millrace._state.variable_groups import (
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from millrace._summaries.building import merge_all
from millrace._summaries.file_writer import FileWriter
from millrace._supervised import events
from millrace._supervised.services import CheckpointThread, StepCounterThread, SummaryThread
from millrace._supervised.session_manager import SessionManager
from millrace._train.global_steps import global_step as step_of

_log = logging.getLogger("millrace")


class Supervisor:
    """Prepares or waits for a session, restores and saves the model, and ends all threads together.

    Args:
      graph: the Graph; the default one if None. It is read-only from then on.
      ready_op, ready_for_local_init_op, init_op, local_init_op, summary_op, saver, global_step: by
        default what the collections of tf.GraphKeys have, else made; None for none.
      is_chief: True for the one that initializes, restores and saves; the others wait for it.
      init_feed_dict: feeds for init_op; init_fn: a function of the session, called after it.
      logdir: a folder for checkpoints and summaries.
      save_summaries_secs, save_model_secs: how often; 0 for never.
      recovery_wait_secs: the longest pause between two looks at whether the model is ready.
      stop_grace_secs: how long threads may take to end.
      checkpoint_basename: what names of checkpoints begin with.
      session_manager: a SessionManager; a new one if None.
      summary_writer: a writer; by default one for logdir.
      local_init_run_options: tf.RunOptions for local_init_op.

    Raises:
      ValueError: if it is no chief and a variable has no device.
    """

    USE_DEFAULT = 0

    def __init__(
        self,
        graph=None,
        ready_op=USE_DEFAULT,
        ready_for_local_init_op=USE_DEFAULT,
        is_chief=True,
        init_op=USE_DEFAULT,
        init_feed_dict=None,
        local_init_op=USE_DEFAULT,
        logdir=None,
        summary_op=USE_DEFAULT,
        saver=USE_DEFAULT,
        global_step=USE_DEFAULT,
        save_summaries_secs=120,
        save_model_secs=600,
        recovery_wait_secs=30,
        stop_grace_secs=120,
        checkpoint_basename="model.ckpt",
        session_manager=None,
        summary_writer=USE_DEFAULT,
        init_fn=None,
        local_init_run_options=None,
    ):
        self._graph = graph or get_default_graph()
        self._is_chief = is_chief
        self._init_feed_dict = init_feed_dict
        self._init_fn = init_fn
        with self._graph.as_default():
            self._ready_op = _chosen(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local_init_op = _chosen(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, None
            )
            self._init_op = _chosen(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._local_init_op = _chosen(local_init_op, GraphKeys.LOCAL_INIT_OP, _local_init)
            self._saver = _chosen(saver, GraphKeys.SAVERS, _new_saver)
            self._summary_op = _chosen(summary_op, GraphKeys.SUMMARY_OP, merge_all)
            self._global_step = _chosen(global_step, GraphKeys.GLOBAL_STEP, _found_global_step)
        self._coord = Coordinator()
        self._stop_grace_secs = stop_grace_secs
        self._logdir = logdir if is_chief else None
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._save_path = os.path.join(logdir, checkpoint_basename) if self._logdir else None
        self._summary_writer = None
        self._graph_is_written = False
        if is_chief and summary_writer is not Supervisor.USE_DEFAULT:
            self._summary_writer = summary_writer
        elif self._logdir:
            self._summary_writer = FileWriter(self._logdir)
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        if not is_chief:
            _check_devices(self._graph)
        self._graph.finalize()

    # ---- What it was made with -------------------------------------------------------------------

    is_chief = property(lambda self: self._is_chief)
    session_manager = property(lambda self: self._session_manager)
    coord = property(lambda self: self._coord)
    init_op = property(lambda self: self._init_op)
    init_feed_dict = property(lambda self: self._init_feed_dict)
    ready_op = property(lambda self: self._ready_op)
    ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
    summary_writer = property(lambda self: self._summary_writer)
    summary_op = property(lambda self: self._summary_op)
    save_summaries_secs = property(lambda self: self._save_summaries_secs)
    global_step = property(lambda self: self._global_step)
    saver = property(lambda self: self._saver)
    save_model_secs = property(lambda self: self._save_model_secs)
    save_path = property(lambda self: self._save_path)

    # ---- Sessions --------------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master="",
        config=None,
        wait_for_checkpoint=False,
        max_wait_secs=7200,
        start_standard_services=True,
    ):
        """A tf.Session whose model is ready: prepared by the chief, waited for by the others.

        Args:
          master: the target.
          config: a tf.ConfigProto.
          wait_for_checkpoint: True to wait for the first checkpoint.
          max_wait_secs: how long to wait.
          start_standard_services: False to start neither services nor queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            sess = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(sess)
        else:
            sess = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(sess)
        return sess

    @contextlib.contextmanager
    def managed_session(
        self, master="", config=None, start_standard_services=True, close_summary_writer=True
    ):
        """A `with` block with a session, at whose end all threads are stopped and it is closed.

        An error inside the block, or of a thread, is raised at its end; OutOfRangeError is none.
        """
        sess = None
        try:
            sess = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield sess
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                if sess is not None:
                    end_filling(self._coord, sess, self._stop_grace_secs)
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                if sess is not None:
                    with contextlib.suppress(Exception):  # its tasks may be gone
                        sess.close()

    def _write_graph(self):
        if self._logdir:
            write_graph(self._graph, self._logdir, "graph.pbtxt")
        if self._summary_writer is not None and not self._graph_is_written:
            self._summary_writer.add_graph(self._graph)
            self._summary_writer.add_meta_graph(
                graph_and_saver(self._graph, getattr(self._saver, "saver_def", None))
            )
            self._graph_is_written = True

    # ---- Threads ---------------------------------------------------------------------------------

    def start_standard_services(self, sess):
        """Starts the threads that save the model, write summaries and count steps.

        Returns:
          the threads; None, with a warning, without a logdir.

        Raises:
          RuntimeError: if it is no chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors can "
                "write events."
            )
        if not self._logdir:
            _log.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        writer, threads = self._summary_writer, []
        if self._global_step is not None and writer is not None:
            writer.add_session_log(events.session_log("START"), step_of(sess, self._global_step))
        if self._save_summaries_secs and writer is not None:
            if self._summary_op is not None:
                threads.append(SummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(StepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            threads.append(CheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        return threads

    def start_queue_runners(self, sess, queue_runners=None):
        """Starts the threads of QueueRunners, of all in the graph if None. Returns the threads."""
        if queue_runners is None:
            queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
        ]

    def loop(self, timer_interval_secs, target, args=None, kwargs=None):
        """Starts a LooperThread that calls `target` every so many seconds, and returns it."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
        """Asks all threads to end and waits for them. Raises the error of one, if one had any."""
        self._coord.request_stop()
        try:
            self._coord.join(
                threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
            wait_for_save(self._saver)
        finally:
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(events.session_log("STOP"))
                self._summary_writer.close()
                self._graph_is_written = False

    def request_stop(self, ex=None):
        """Asks all threads to end; `ex` is the error that is the reason."""
        self._coord.request_stop(ex=ex)

    def should_stop(self):
        """True once somebody asked for the end."""
        return self._coord.should_stop()

    def stop_on_exception(self):
        """A `with` block: an error in it asks for the end, and goes no further."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self):
        """Waits until somebody asks for the end."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess, summary, global_step=None):
        """Writes a summary. RuntimeError if there is no writer."""
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = step_of(sess, self._global_step)
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _chosen(given, collection, make):
    """What was given; by default the first of a collection, or what is made and joins it."""
    if given is not Supervisor.USE_DEFAULT:
        return given
    found = get_collection(collection)
    if len(found) > 1:
        _log.info("Found %d %s operations. Returning the first one.", len(found), collection)
    if found:
        return found[0]
    made = make() if make is not None else None
    if made is not None:
        # A saver that joins its collection by itself is there already.
        if not any(made is item for item in get_collection(collection)):
            add_to_collection(collection, made)
    return made


def _local_init():
    return group(local_variables_initializer(), tables_initializer())


def _new_saver():
    return default_saver() if global_variables() else None


def _found_global_step():
    """The Tensor of the variable "global_step", if it is one that can count."""
    try:
        found = get_default_graph().get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    if not found.dtype.base_dtype.is_integer:
        _log.warning("Found 'global_step' is not an int type: %s", found.dtype)
        return None
    return found


def _check_devices(graph):
    """Variables without a device would be others for each worker."""
    for operation in graph.get_operations():
        if operation.type in ("Variable", "VariableV2") and not operation.device:
            raise ValueError(
                f"When using replicas, all Variables must have their device set: {operation}"
            )

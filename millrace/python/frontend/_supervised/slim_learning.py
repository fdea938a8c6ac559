"""slim.learning.train: a whole training in one call, in a Supervisor's session."""

import logging
import os
import time

from millrace import _gen as gen_ops
from millrace._files import paths
from millrace._flow.control_flow import group
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._graph.graph import get_default_graph
from millrace._ops.arithmetic import equal
from millrace._run.config import RunMetadata, RunOptions
from millrace._run.timeline import Timeline
from millrace._saving.saver import Saver
from millrace._state.tables import tables_initializer
from millrace._state.variable_groups import (
    global_variables_initializer,
    local_variables_initializer,
    report_uninitialized_variables,
)
from millrace._summaries.building import merge_all
from millrace._supervised.supervisor import Supervisor
from millrace._supervised.sync_replicas import SyncReplicasOptimizer
from millrace._train.global_steps import get_or_create_global_step
from millrace._train.global_steps import global_step as step_of
from millrace._values import errors

_log = logging.getLogger("millrace")
_USE_DEFAULT = 0
_POLL_SECONDS = 1.0
_GRACE_SECONDS = 120


def train_step(sess, train_op, global_step, train_step_kwargs):
    """One step of slim.learning.train.

    Args:
      sess: the session.
      train_op: a Tensor that changes the variables and gives the loss.
      global_step: the Tensor that counts steps.
      train_step_kwargs: a dictionary that may have bool Tensors "should_stop", "should_log" (the loss) and
        "should_trace" (the step, into a file in "logdir", and to "summary_writer").

    Returns:
      (the loss, whether to stop).

    Raises:
      ValueError: for "should_trace" without "logdir".
    """
    begin = time.monotonic()
    options = metadata = None
    if "should_trace" in train_step_kwargs:
        if "logdir" not in train_step_kwargs:
            raise ValueError(
                "logdir must be present in train_step_kwargs when should_trace is present"
            )
        if sess.run(train_step_kwargs["should_trace"]):
            options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), RunMetadata()
    loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
    seconds = time.monotonic() - begin
    if metadata is not None:
        _write_trace(metadata, step, train_step_kwargs)
    # Asked after the step: what it fetched itself may be from before its own update.
    if "should_log" in train_step_kwargs:
        is_told, step = sess.run([train_step_kwargs["should_log"], global_step])
        if is_told:
            _log.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, seconds)
    stop = train_step_kwargs.get("should_stop")
    return loss, bool(stop is not None and sess.run(stop))


def _write_trace(metadata, step, kwargs):
    file = os.path.join(kwargs["logdir"], f"tf_trace-{step}.json")
    _log.info("Writing trace to %s", file)
    paths.makedirs(kwargs["logdir"])
    with paths.open_file(file, "w", encoding="utf-8") as out:
        out.write(Timeline(metadata.step_stats).generate_chrome_trace_format())
    if kwargs.get("summary_writer") is not None:
        kwargs["summary_writer"].add_run_metadata(metadata, f"run_metadata-{step}")


def train(
    train_op,
    logdir,
    train_step_fn=train_step,
    train_step_kwargs=_USE_DEFAULT,
    log_every_n_steps=1,
    graph=None,
    master="",
    is_chief=True,
    global_step=None,
    number_of_steps=None,
    init_op=_USE_DEFAULT,
    init_feed_dict=None,
    local_init_op=_USE_DEFAULT,
    init_fn=None,
    ready_op=_USE_DEFAULT,
    summary_op=_USE_DEFAULT,
    save_summaries_secs=600,
    summary_writer=_USE_DEFAULT,
    startup_delay_steps=0,
    saver=None,
    save_interval_secs=600,
    sync_optimizer=None,
    session_config=None,
    session_wrapper=None,
    trace_every_n_steps=None,
    ignore_live_threads=False,
):
    """Trains until a step says so, or the input is at its end; the chief then saves the model.

    A session that is aborted, because a task was started anew, is followed by another.

    Args:
      train_op: a Tensor that changes the variables and gives the loss, of create_train_op.
      logdir: the folder of checkpoints and summaries; None for neither.
      train_step_fn: a function like train_step.
      train_step_kwargs: its last argument; by default "should_stop" at number_of_steps, "should_log" every
        log_every_n_steps, and "should_trace" every trace_every_n_steps if these are given.
      graph: the default one if None.
      master: the target. is_chief: whether this one initializes and saves.
      global_step: the graph's, made if there is none, if None.
      number_of_steps: None for no end.
      init_op, init_feed_dict, local_init_op, init_fn, ready_op, summary_op, summary_writer,
        save_summaries_secs: as for tf.train.Supervisor.
      saver: a new Saver if None. save_interval_secs: how often to save.
      startup_delay_steps: the global step at which one that is no chief begins.
      sync_optimizer: the SyncReplicasOptimizer that made train_op.
      session_config: a tf.ConfigProto. session_wrapper: a function of a session that gives the one to use.
      ignore_live_threads: accepted; threads have their time to end in any case.

    Returns:
      the last loss; None if there was no step.

    Raises:
      ValueError: without train_op, or for arguments that exclude each other.
    """
    _check(
        train_op,
        {
            "summary_op": summary_op != _USE_DEFAULT and summary_op is not None,
            "saver": saver is not None,
            "trace_every_n_steps": trace_every_n_steps is not None,
        },
        logdir,
        sync_optimizer,
        startup_delay_steps,
        number_of_steps,
    )
    graph = graph or get_default_graph()
    tokens_op = chief_runner = ready_for_local_init_op = None
    with graph.as_default():
        global_step = get_or_create_global_step() if global_step is None else global_step
        saver = saver or Saver()
        if sync_optimizer is not None and is_chief:
            tokens_op = sync_optimizer.get_init_tokens_op()
            chief_runner = sync_optimizer.get_chief_queue_runner()
        with name_scope("init_ops"):
            if init_op == _USE_DEFAULT:
                init_op = global_variables_initializer()
            if ready_op == _USE_DEFAULT:
                ready_op = report_uninitialized_variables()
            if local_init_op == _USE_DEFAULT:
                local_init_op = group(local_variables_initializer(), tables_initializer())
            if sync_optimizer is not None:
                own = "chief_init_op" if is_chief else "local_step_init_op"
                both = [local_init_op, getattr(sync_optimizer, own)]
                local_init_op = group(*(each for each in both if each is not None))
                ready_for_local_init_op = sync_optimizer.ready_for_local_init_op
        if summary_op == _USE_DEFAULT:
            summary_op = merge_all()
        if train_step_kwargs == _USE_DEFAULT:
            every = log_every_n_steps, trace_every_n_steps if is_chief else None
            train_step_kwargs = _kwargs(global_step, number_of_steps, every, logdir)
    supervisor = Supervisor(
        graph=graph,
        is_chief=is_chief,
        logdir=logdir,
        init_op=init_op,
        init_feed_dict=init_feed_dict,
        local_init_op=local_init_op,
        ready_for_local_init_op=ready_for_local_init_op,
        ready_op=ready_op,
        summary_op=summary_op,
        summary_writer=summary_writer,
        global_step=global_step,
        saver=saver,
        save_summaries_secs=save_summaries_secs,
        save_model_secs=save_interval_secs,
        init_fn=init_fn,
    )
    if summary_writer is not None:
        train_step_kwargs["summary_writer"] = supervisor.summary_writer
    loss = None

    def trained(sess):
        nonlocal loss
        if session_wrapper is not None:
            sess = session_wrapper(sess)
        services = []
        if is_chief:
            if logdir:
                services = supervisor.start_standard_services(sess)
        elif startup_delay_steps > 0:
            _wait_for_step(
                supervisor, sess, global_step, min(startup_delay_steps, number_of_steps or 2**63)
            )
        supervisor.start_queue_runners(sess)
        if chief_runner is not None:
            supervisor.start_queue_runners(sess, [chief_runner])
            sess.run(tokens_op)
        try:
            while not supervisor.should_stop():
                loss, stop = train_step_fn(sess, train_op, global_step, train_step_kwargs)
                if stop:
                    _log.info("Stopping Training.")
                    break
        except errors.OutOfRangeError as error:
            # The input is at its end, as the program had it.
            _log.info("Caught OutOfRangeError. Stopping Training. %s", error)
        # None of these may save what is older after the last checkpoint.
        supervisor.request_stop()
        for thread in services:
            thread.join(_GRACE_SECONDS)
        if logdir and is_chief:
            _log.info("Finished training! Saving model to disk.")
            supervisor.saver.save(sess, supervisor.save_path, global_step=supervisor.global_step)

    while True:
        try:
            with supervisor.managed_session(
                master, session_config, start_standard_services=False
            ) as sess:
                trained(sess)
            return loss
        except errors.AbortedError:
            _log.info("Retrying training!")


def _check(train_op, needs_folder, logdir, sync_optimizer, startup_delay_steps, number_of_steps):
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    if logdir is None:
        for name, is_given in needs_folder.items():
            if is_given:
                raise ValueError(f"Cannot provide {name} because logdir=None")
    if sync_optimizer is not None:
        if not isinstance(sync_optimizer, SyncReplicasOptimizer):
            raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
        if startup_delay_steps > 0:
            raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _kwargs(global_step, number_of_steps, every, logdir):
    """What train_step is told by default."""
    log_every, trace_every = every
    with name_scope("train_step"):
        made = {
            "should_stop": (
                gen_ops.greater_equal(global_step, number_of_steps)
                if number_of_steps
                else constant(False)
            )
        }
        if log_every > 0:
            made["should_log"] = equal(gen_ops.floor_mod(global_step, log_every), 0)
        if trace_every is not None:
            made["should_trace"] = equal(gen_ops.floor_mod(global_step, trace_every), 0)
            made["logdir"] = logdir
    return made


def _wait_for_step(supervisor, sess, global_step, step):
    """Waits until others have reached a global step, or training is to end."""
    while not supervisor.should_stop() and step_of(sess, global_step) < step:
        time.sleep(_POLL_SECONDS)

"""Evaluating checkpoints: one, or each new one of a folder, in sessions that count what they evaluate."""

import logging

from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._saving.new_checkpoints import checkpoints_iterator
from millrace._saving.saver import Saver
from millrace._state.assignments import assign_add
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable
from millrace._summaries.building import merge_all
from millrace._summaries.file_writer import FileWriterCache
from millrace._supervised.hook import SessionRunArgs, SessionRunHook
from millrace._supervised.monitored_session import MonitoredSession
from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_creators import ChiefSessionCreator
from millrace._supervised.value_hooks import FinalOpsHook
from millrace._train.global_steps import get_or_create_global_step
from millrace._train.global_steps import global_step as step_of
from millrace._values import dtypes

_log = logging.getLogger("millrace")
_USE_DEFAULT = 0


def get_or_create_eval_step():
    """The int64 local variable `eval_step`, in the collection EVAL_STEP, that counts evaluated batches.

    Raises:
      ValueError: if that collection has several.
    """
    found = get_collection(GraphKeys.EVAL_STEP)
    if len(found) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    if found:
        return found[0]
    return get_variable(
        "eval_step",
        [],
        dtypes.int64,
        initializer=zeros_initializer(),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )


class StopAfterNEvalsHook(SessionRunHook):
    """Asks for the end of an evaluation after so many batches.

    Args:
      num_evals: how many; None for no end but that of the input.
      log_progress: whether to log how far it is.
    """

    def __init__(self, num_evals, log_progress=True):
        self._num_evals = num_evals
        self._every = max(1, (num_evals or 10) // 10) if log_progress else None
        self._done = None

    def count_by(self, evals_completed):
        """Tells it the Tensor that is the number of batches so far, of a step and those before."""
        self._done = evals_completed

    def before_run(self, run_context):
        return SessionRunArgs({"evals_completed": self._done})

    def after_run(self, run_context, run_values):
        done = run_values.results["evals_completed"]
        if self._every is not None and (done % self._every == 0 or done == self._num_evals):
            _log.info("Evaluation [%d/%s]", done, self._num_evals or "?")
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries at the end of a session.

    Args:
      log_dir: the folder; or
      summary_writer: a tf.summary.FileWriter.
      summary_op: all summaries of the graph, merged, if None.
      feed_dict: feeds for it.

    Raises:
      ValueError: without both folder and writer.
    """

    def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._folder, self._writer = log_dir, summary_writer
        self._given_op, self._feeds = summary_op, feed_dict
        self._op = self._step = None

    def begin(self):
        self._op = merge_all() if self._given_op is None else self._given_op
        self._step = get_or_create_global_step()

    def after_create_session(self, session, coord):
        if self._writer is None:
            self._writer = FileWriterCache.get(self._folder)

    def end(self, session):
        if self._op is None:
            return
        step = step_of(session, self._step)
        self._writer.add_summary(session.run(self._op, self._feeds), step)
        self._writer.flush()


def _with_count(eval_ops, hooks):
    """eval_ops that count themselves, of which the hooks are told."""
    count = get_or_create_eval_step()
    if eval_ops is None:
        return None
    done = assign_add(count, 1)
    for hook in hooks:
        if isinstance(hook, StopAfterNEvalsHook):
            hook.count_by(done)
    if isinstance(eval_ops, dict):
        return {**eval_ops, "update_eval_step": done}
    return [*(eval_ops if isinstance(eval_ops, (list, tuple)) else [eval_ops]), done]


def _evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, hooks, config):
    _log.info("Starting evaluation of %s", checkpoint_path)
    creator = ChiefSessionCreator(
        scaffold=scaffold,
        checkpoint_filename_with_path=checkpoint_path,
        master=master,
        config=config,
    )
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        while eval_ops is not None and not session.should_stop():
            session.run(eval_ops, feed_dict)
    _log.info("Finished evaluation")


def evaluate_once(
    checkpoint_path,
    master="",
    scaffold=None,
    eval_ops=None,
    feed_dict=None,
    final_ops=None,
    final_ops_feed_dict=None,
    hooks=None,
    config=None,
):
    """Evaluates one checkpoint.

    Args:
      checkpoint_path: the checkpoint; None to evaluate what scaffold initializes.
      master: the target.
      scaffold: a tf.train.Scaffold; a new one if None.
      eval_ops: what is run until a hook asks for the end, or the input is at its end; None for nothing.
      feed_dict: feeds for it.
      final_ops: what is run once at the end. final_ops_feed_dict: feeds for it.
      hooks: tf.train.SessionRunHooks, such as StopAfterNEvalsHook.
      config: a tf.ConfigProto.

    Returns:
      what final_ops gave; None without them.
    """
    hooks = list(hooks or [])
    eval_ops = _with_count(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    _evaluate(checkpoint_path, master, scaffold, eval_ops, feed_dict, [*hooks, last], config)
    return last.final_ops_values


def evaluate_repeatedly(
    checkpoint_dir,
    master="",
    scaffold=None,
    eval_ops=None,
    feed_dict=None,
    final_ops=None,
    final_ops_feed_dict=None,
    eval_interval_secs=60,
    hooks=None,
    config=None,
    max_number_of_evaluations=None,
    timeout=None,
    timeout_fn=None,
):
    """evaluate_once for each new checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      eval_interval_secs: the least time from one evaluation to the next.
      max_number_of_evaluations: None for no end.
      timeout, timeout_fn: as for tf.contrib.training.checkpoints_iterator.
      Others: as for evaluate_once.

    Returns:
      what final_ops gave at last; None without them.
    """
    hooks = list(hooks or [])
    eval_ops = _with_count(eval_ops, hooks)
    last = FinalOpsHook(final_ops, final_ops_feed_dict)
    scaffold = scaffold or Scaffold()
    checkpoints = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    for number, path in enumerate(checkpoints, 1):
        _evaluate(path, master, scaffold, eval_ops, feed_dict, [*hooks, last], config)
        # Before the pause that the next one would take.
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return last.final_ops_values


def slim_evaluate_once(
    master,
    checkpoint_path,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_USE_DEFAULT,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    session_config=None,
    hooks=None,
):
    """Evaluates one checkpoint on so many batches, and writes summaries.

    Args:
      master: the target.
      checkpoint_path: the checkpoint.
      logdir: the folder for summaries.
      num_evals: how often to run eval_op.
      initial_op: what initializes variables. initial_op_feed_dict: feeds for it.
      eval_op, final_op, and their feeds: as eval_ops and final_ops of evaluate_once.
      summary_op: all summaries of the graph by default; None for none. summary_op_feed_dict: its feeds.
      variables_to_restore: what a tf.train.Saver takes; all that it saves by default if None.
      session_config: a tf.ConfigProto.
      hooks: more tf.train.SessionRunHooks.

    Returns:
      what final_op gave; None without it.
    """
    return evaluate_once(
        checkpoint_path,
        master,
        _slim_scaffold(initial_op, initial_op_feed_dict, None, variables_to_restore),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        _slim_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
    )


def evaluation_loop(
    master,
    checkpoint_dir,
    logdir,
    num_evals=1,
    initial_op=None,
    initial_op_feed_dict=None,
    init_fn=None,
    eval_op=None,
    eval_op_feed_dict=None,
    final_op=None,
    final_op_feed_dict=None,
    summary_op=_USE_DEFAULT,
    summary_op_feed_dict=None,
    variables_to_restore=None,
    eval_interval_secs=60,
    max_number_of_evaluations=None,
    session_config=None,
    timeout=None,
    timeout_fn=None,
    hooks=None,
):
    """slim's evaluate_once for each new checkpoint of a folder.

    Args:
      init_fn: a function (scaffold, session) that is called after initial_op.
      checkpoint_dir, eval_interval_secs, max_number_of_evaluations, timeout, timeout_fn: as for
        evaluate_repeatedly.
      Others, and what it returns: as for slim.evaluation.evaluate_once.
    """
    return evaluate_repeatedly(
        checkpoint_dir,
        master,
        _slim_scaffold(initial_op, initial_op_feed_dict, init_fn, variables_to_restore),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        _slim_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )


def _slim_scaffold(init_op, init_feed_dict, init_fn, variables_to_restore):
    saver = None if variables_to_restore is None else Saver(variables_to_restore)
    return Scaffold(init_op=init_op, init_feed_dict=init_feed_dict, init_fn=init_fn, saver=saver)


def _slim_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks):
    made = [StopAfterNEvalsHook(num_evals)]
    if isinstance(summary_op, int) and summary_op == _USE_DEFAULT:
        summary_op = merge_all()
    if summary_op is not None:
        made.append(SummaryAtEndHook(logdir, summary_op=summary_op, feed_dict=summary_op_feed_dict))
    return [*made, *(hooks or ())]


slim_evaluate_once.__name__ = slim_evaluate_once.__qualname__ = "evaluate_once"

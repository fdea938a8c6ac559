"""tf.contrib.training.train: a whole training in one call, in a monitored session."""

from millrace._supervised.monitored_session import MonitoredSession
from millrace._supervised.saving_hooks import CheckpointSaverHook, SummarySaverHook
from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_creators import ChiefSessionCreator, WorkerSessionCreator
from millrace._supervised.step_hooks import StepCounterHook


def train(
    train_op,
    logdir,
    master="",
    is_chief=True,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=600,
    save_summaries_steps=100,
    config=None,
    max_wait_secs=7200,
    run_metadata=None,
):
    """Runs train_op until a hook asks for the end, or the input is at its end.

    Args:
      train_op: a Tensor that changes the variables and gives the loss, of create_train_op.
      logdir: the folder of checkpoints and summaries; None for neither.
      master: the target. is_chief: whether this one initializes, restores and saves.
      scaffold: a tf.train.Scaffold; a new one if None.
      hooks, chief_only_hooks: tf.train.SessionRunHooks; the latter for the chief alone.
      save_checkpoint_secs, save_summaries_steps: how often; None or 0 for never.
      config: a tf.ConfigProto.
      max_wait_secs: how long one that is no chief waits for it.
      run_metadata: a tf.RunMetadata that is filled by each step.

    Returns:
      the last loss; None if there was no step.

    Raises:
      ValueError: if something is to be saved and there is no logdir.
    """
    scaffold, hooks = scaffold or Scaffold(), list(hooks or [])
    if is_chief:
        creator = ChiefSessionCreator(
            scaffold=scaffold, checkpoint_dir=logdir, master=master, config=config
        )
        hooks.extend(chief_only_hooks or [])
        hooks.extend(_services(logdir, scaffold, save_checkpoint_secs, save_summaries_steps))
    else:
        creator = WorkerSessionCreator(
            scaffold=scaffold, master=master, config=config, max_wait_secs=max_wait_secs
        )
    loss = None
    with MonitoredSession(session_creator=creator, hooks=hooks) as session:
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss


def _services(logdir, scaffold, checkpoint_secs, summaries_steps):
    made = [StepCounterHook(output_dir=logdir)]
    if summaries_steps:
        if logdir is None:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        made.append(
            SummarySaverHook(scaffold=scaffold, save_steps=summaries_steps, output_dir=logdir)
        )
    if checkpoint_secs:
        if logdir is None:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
        made.append(CheckpointSaverHook(logdir, save_secs=checkpoint_secs, scaffold=scaffold))
    return made

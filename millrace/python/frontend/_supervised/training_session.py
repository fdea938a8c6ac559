"""MonitoredTrainingSession: the session of one worker, or of the chief with what only a chief does."""

from millrace._supervised.monitored_session import MonitoredSession
from millrace._supervised.saving_hooks import CheckpointSaverHook, SummarySaverHook
from millrace._supervised.scaffold import Scaffold
from millrace._supervised.session_creators import ChiefSessionCreator, WorkerSessionCreator
from millrace._supervised.step_hooks import StepCounterHook

USE_DEFAULT = object()


def _chosen(steps, seconds, default_steps, default_seconds):
    """(steps, seconds) of a pair of arguments: the defaults count only if neither is given."""
    if steps is USE_DEFAULT and seconds is USE_DEFAULT:
        return default_steps, default_seconds
    return tuple(None if value is USE_DEFAULT else value for value in (steps, seconds))


def _is_positive(value):
    return value is not None and value > 0


def MonitoredTrainingSession(
    master="",
    is_chief=True,
    checkpoint_dir=None,
    scaffold=None,
    hooks=None,
    chief_only_hooks=None,
    save_checkpoint_secs=USE_DEFAULT,
    save_summaries_steps=USE_DEFAULT,
    save_summaries_secs=USE_DEFAULT,
    config=None,
    stop_grace_period_secs=120,
    log_step_count_steps=100,
    max_wait_secs=7200,
    save_checkpoint_steps=USE_DEFAULT,
    summary_dir=None,
    save_graph_def=True,
):
    """A MonitoredSession for training.

    Args:
      master: the target.
      is_chief: True for the one that initializes, restores and saves; the others wait for it.
      checkpoint_dir: a folder of checkpoints: the newest is restored, new ones are saved.
      scaffold: a Scaffold.
      hooks: SessionRunHooks of any worker; chief_only_hooks: of the chief alone.
      save_checkpoint_secs, save_checkpoint_steps: how often to save; 600 seconds by default.
      save_summaries_steps, save_summaries_secs: how often to write summaries; 100 steps by default.
      config: a tf.ConfigProto.
      stop_grace_period_secs: how long threads may take to end.
      log_step_count_steps: how often to log the steps per second.
      max_wait_secs: how long workers wait for the chief, and a loss may last.
      summary_dir: a folder for summaries; checkpoint_dir if None.
      save_graph_def: True to write the graph beside the checkpoints.
    """
    summary_steps, summary_secs = _chosen(save_summaries_steps, save_summaries_secs, 100, None)
    saved_steps, saved_secs = _chosen(save_checkpoint_steps, save_checkpoint_secs, None, 600)
    scaffold = scaffold or Scaffold()
    if not is_chief:
        creator = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(creator, hooks, stop_grace_period_secs)

    all_hooks = list(chief_only_hooks or [])
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and _is_positive(log_step_count_steps):
        all_hooks.append(
            StepCounterHook(every_n_steps=log_step_count_steps, output_dir=summary_dir)
        )
    if summary_dir and (_is_positive(summary_steps) or _is_positive(summary_secs)):
        all_hooks.append(
            SummarySaverHook(
                save_steps=summary_steps,
                save_secs=summary_secs,
                output_dir=summary_dir,
                scaffold=scaffold,
            )
        )
    if checkpoint_dir and (_is_positive(saved_secs) or _is_positive(saved_steps)):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir,
                save_steps=saved_steps,
                save_secs=saved_secs,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    creator.max_wait_secs = max_wait_secs
    return MonitoredSession(creator, all_hooks + list(hooks or []), stop_grace_period_secs)

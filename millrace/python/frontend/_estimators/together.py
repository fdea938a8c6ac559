"""train_and_evaluate: the same program alone, or as any task of a cluster.

Alone it trains and, at checkpoints, evaluates. In a cluster (TF_CONFIG) each task does what its job says:
chief, master and workers train, of which the master evaluates too; ps serve until they are ended; an
evaluator, which is no part of the cluster, evaluates checkpoints as they come, and nobody waits for it.
"""

import logging
import os
import time

from millrace._estimators.estimator import Estimator
from millrace._estimators.run_config import TaskType
from millrace._estimators.train_specs import EvalSpec, TrainSpec
from millrace._run.server import Server
from millrace._saving.new_checkpoints import wait_for_new_checkpoint
from millrace._supervised.saving_hooks import CheckpointSaverListener
from millrace._supervised.timers import SecondOrStepTimer

_log = logging.getLogger("millrace")


def train_and_evaluate(estimator, train_spec, eval_spec):
    """Trains and evaluates an Estimator, as the task that this process is.

    Args:
      estimator: the Estimator.
      train_spec: a TrainSpec; without max_steps an evaluator never ends by itself.
      eval_spec: an EvalSpec.

    Returns:
      alone, and for a master or evaluator: (what the last evaluation gave, [what each Exporter made]);
      otherwise None.

    Raises:
      TypeError: for arguments that are something else; ValueError: for a job that is none of these.
    """
    for value, kind, name in (
        (estimator, Estimator, "estimator"),
        (train_spec, TrainSpec, "train_spec"),
        (eval_spec, EvalSpec, "eval_spec"),
    ):
        if not isinstance(value, kind):
            raise TypeError(
                f"`{name}` must have type `tf.estimator.{kind.__name__}`, given {type(value)}"
            )
    return _Together(estimator, train_spec, eval_spec).run()


class _Together:
    def __init__(self, estimator, train_spec, eval_spec):
        self._estimator = estimator
        self._train_spec = train_spec
        self._eval_spec = eval_spec
        self._config = estimator.config

    def run(self):
        task = self._config.task_type
        if task == TaskType.EVALUATOR:
            return self._evaluate_as_they_come()
        if not self._config.cluster_spec:
            return self._train_and_evaluate()
        if task in (TaskType.CHIEF, TaskType.WORKER):
            self._serve()
            self._train([])
            return None
        if task == TaskType.MASTER:
            self._serve()
            return self._train_and_evaluate()
        if task == TaskType.PS:
            self._serve().join()
            return None
        raise ValueError(
            f"the job '{task}' of this task in TF_CONFIG has nothing to do here: jobs are chief, master, "
            "worker, ps and evaluator"
        )

    def _serve(self):
        config = self._config
        return Server(
            config.cluster_spec,
            job_name=config.task_type,
            task_index=config.task_id,
            protocol=config.protocol,
            config=config.session_config,
        )

    def _train(self, listeners):
        spec = self._train_spec
        self._estimator.train(
            spec.input_fn,
            hooks=list(spec.hooks),
            max_steps=spec.max_steps,
            saving_listeners=[*spec.saving_listeners, *listeners],
        )

    def _train_and_evaluate(self):
        evaluator = Evaluator(self._estimator, self._eval_spec, self._train_spec.max_steps)
        listener = EvaluatingListener(evaluator, self._eval_spec.throttle_secs)
        self._train([listener])
        return evaluator.last

    def _evaluate_as_they_come(self):
        spec, max_steps = self._eval_spec, self._train_spec.max_steps
        evaluator = Evaluator(self._estimator, spec, max_steps)
        if spec.start_delay_secs:
            _log.info("Waiting %s secs before starting eval.", spec.start_delay_secs)
            time.sleep(spec.start_delay_secs)
        path = None
        while not evaluator.is_done:
            path = wait_for_new_checkpoint(self._estimator.model_dir, path)
            began = time.monotonic()
            evaluator.evaluate(path)
            if not evaluator.is_done:
                time.sleep(max(0, began + spec.throttle_secs - time.monotonic()))
        return evaluator.last


class Evaluator:
    """Evaluates checkpoints, each once, and exports what Exporters want of them.

    Attributes:
      last: (what the last evaluation gave, [what each Exporter made]); (None, []) before.
      is_done: whether the model was evaluated at the last step that it is trained to.
    """

    def __init__(self, estimator, eval_spec, max_steps):
        self._estimator = estimator
        self._spec = eval_spec
        self._max_steps = max_steps
        self._path = None
        self.last = (None, [])
        self.is_done = False

    def evaluate(self, path=None, is_last=False):
        """Evaluates a checkpoint, the newest if None, unless it was the last one."""
        path = path or self._estimator.latest_checkpoint()
        if path is None or path == self._path:
            _log.warning("there is no new checkpoint to evaluate in %s", self._estimator.model_dir)
            return
        spec = self._spec
        result = self._estimator.evaluate(
            spec.input_fn,
            steps=spec.steps,
            hooks=list(spec.hooks),
            checkpoint_path=path,
            name=spec.name,
        )
        self._path = path
        self.is_done = is_last
        if self._max_steps is not None and not is_last:
            self.is_done = int(result["global_step"]) >= self._max_steps
        self.last = result, self._export(path, result)

    def _export(self, path, result):
        made = []
        for exporter in self._spec.exporters:
            folder = os.path.join(self._estimator.model_dir, "export", exporter.name)
            made.append(
                exporter.export(
                    estimator=self._estimator,
                    export_path=folder,
                    checkpoint_path=path,
                    eval_result=result,
                    is_the_final_export=self.is_done,
                )
            )
        return made


class EvaluatingListener(CheckpointSaverListener):
    """Evaluates when a checkpoint was saved: at most once in `throttle_secs`, and at the end."""

    def __init__(self, evaluator, throttle_secs):
        self._evaluator = evaluator
        self._timer = SecondOrStepTimer(every_secs=throttle_secs)

    def begin(self):
        self._timer.reset()
        self._is_first = True

    def after_save(self, session, global_step_value):
        if self._is_first:  # of a model that is not trained yet
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)

    def end(self, session, global_step_value):
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value, is_last=True)

    def _evaluate(self, step, is_last=False):
        self._timer.update_last_triggered_step(step)
        self._evaluator.evaluate(is_last=is_last)

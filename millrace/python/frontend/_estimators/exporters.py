"""Exporters: what train_and_evaluate exports after an evaluation."""

import os
import shutil

from millrace._estimators.mode_keys import MetricKeys


class Exporter:
    """Exports a model after an evaluation.

    Attributes:
      name: the folder of its exports.
    """

    @property
    def name(self):
        raise NotImplementedError(f"{type(self).__name__} has no name")

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """Exports a checkpoint.

        Args:
          estimator: the Estimator.
          export_path: where to.
          checkpoint_path: the checkpoint that was evaluated.
          eval_result: what the evaluation gave.
          is_the_final_export: whether it is the last one.

        Returns:
          the folder of the export, or None.
        """
        raise NotImplementedError(f"{type(self).__name__} has no export()")


class _SavedModelExporter(Exporter):
    def __init__(self, name, serving_input_receiver_fn, assets_extra, as_text):
        self._name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    @property
    def name(self):
        return self._name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        return estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )


class FinalExporter(_SavedModelExporter):
    """Exports once, at the end.

    Args:
      name: the folder.
      serving_input_receiver_fn, assets_extra, as_text: as for Estimator.export_saved_model.
    """

    def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if not is_the_final_export:
            return None
        return super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )


def _remove_old(export_path, exports_to_keep):
    """Removes the oldest exports; their names are numbers that grow."""
    if exports_to_keep is None or not os.path.isdir(export_path):
        return
    found = sorted((name for name in os.listdir(export_path) if name.isdigit()), key=int)
    for name in found[: max(0, len(found) - exports_to_keep)]:
        shutil.rmtree(os.path.join(export_path, name), ignore_errors=True)


def _checked_count(exports_to_keep):
    if exports_to_keep is not None and exports_to_keep <= 0:
        raise ValueError("`exports_to_keep`, if provided, must be a positive number.")
    return exports_to_keep


class LatestExporter(_SavedModelExporter):
    """Exports after each evaluation, and keeps the last ones.

    Args:
      exports_to_keep: how many; None for all.
      The others as for FinalExporter.
    """

    def __init__(
        self, name, serving_input_receiver_fn, assets_extra=None, as_text=False, exports_to_keep=5
    ):
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._keep = _checked_count(exports_to_keep)

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        made = super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _remove_old(export_path, self._keep)
        return made


def loss_is_smaller(best_eval_result, current_eval_result):
    """Whether the second result has the smaller loss."""
    if not best_eval_result or MetricKeys.LOSS not in best_eval_result:
        raise ValueError("best_eval_result cannot be empty or no loss is found in it.")
    if not current_eval_result or MetricKeys.LOSS not in current_eval_result:
        raise ValueError("current_eval_result cannot be empty or no loss is found in it.")
    return best_eval_result[MetricKeys.LOSS] > current_eval_result[MetricKeys.LOSS]


class BestExporter(_SavedModelExporter):
    """Exports when an evaluation was better than all before it in this process.

    Args:
      compare_fn: a function of (best_eval_result, current_eval_result): whether the second is better; the
        smaller loss if None.
      event_file_pattern: accepted: earlier processes' results are not looked at.
      The others as for LatestExporter.
    """

    def __init__(
        self,
        name="best_exporter",
        serving_input_receiver_fn=None,
        event_file_pattern=None,
        compare_fn=None,
        assets_extra=None,
        as_text=False,
        exports_to_keep=5,
    ):
        if serving_input_receiver_fn is None:
            raise ValueError("`serving_input_receiver_fn` must be defined.")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        self._is_better = compare_fn or loss_is_smaller
        self._best = None
        self._keep = _checked_count(exports_to_keep)

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        if self._best is not None and not self._is_better(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        self._best = eval_result
        made = super().export(
            estimator, export_path, checkpoint_path, eval_result, is_the_final_export
        )
        _remove_old(export_path, self._keep)
        return made

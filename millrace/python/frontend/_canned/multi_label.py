"""The head of classes of which an example may have any number."""

from millrace._canned.heads import Head, PredictionKeys, ServingKeys
from millrace._canned.measures import areas, at_thresholds, checked_thresholds, weighted_mean
from millrace._estimators.export_outputs import ClassificationOutput, PredictOutput
from millrace._flow.checks import assert_greater_equal, assert_less
from millrace import _gen as gen_ops
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._measures.losses import Reduction
from millrace._ops.arithmetic import cast, sigmoid
from millrace._ops.arrays import expand_dims, tile
from millrace._ops.arrays import shape as shape_of
from millrace._ops.cross_entropies import sigmoid_cross_entropy_with_logits
from millrace._ops.reductions import reduce_mean
from millrace._ops.sparse import sparse_to_indicator
from millrace._saved_models.signature_names import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millrace._state.index_tables import index_table_from_tensor
from millrace._values import dtypes


class MultiLabelHead(Head):
    """Two or more classes of which an example may have any: a sigmoid of a logit for each.

    Labels are a matrix with a 1 where an example has a class and a 0 elsewhere, or a SparseTensor of the
    classes that it has.

    Args:
      n_classes: how many, at least 2.
      weight_column, loss_reduction, loss_fn, name: as for Head; losses are means over the classes.
      thresholds: numbers between 0 and 1 at which accuracy, precision and recall are measured too.
      label_vocabulary: what sparse labels are, strings; they are numbers from 0 on if None.
      classes_for_class_based_metrics: numbers or labels of classes that are measured by themselves too.

    Raises:
      ValueError: for fewer classes, other thresholds, or as many labels as there are not classes.
    """

    labels_dimension = None

    def __init__(
        self,
        n_classes,
        weight_column=None,
        thresholds=None,
        label_vocabulary=None,
        loss_reduction=Reduction.SUM_OVER_BATCH_SIZE,
        loss_fn=None,
        classes_for_class_based_metrics=None,
        name=None,
    ):
        if n_classes is None or n_classes < 2:
            raise ValueError(
                f"n_classes must be > 1 for multi-label classification. Given: {n_classes}"
            )
        super().__init__(n_classes, weight_column, loss_reduction, loss_fn, name)
        if label_vocabulary is not None and len(label_vocabulary) != n_classes:
            raise ValueError(
                f"Length of label_vocabulary must be n_classes ({n_classes}). Given: "
                f"{list(label_vocabulary)}"
            )
        self._thresholds = checked_thresholds(thresholds)
        self._vocabulary = label_vocabulary and list(label_vocabulary)
        self._measured = [self._number(each) for each in classes_for_class_based_metrics or ()]

    def _number(self, given):
        number = (self._vocabulary or []).index(given) if isinstance(given, str) else given
        if not 0 <= number < self._logits_dimension:
            raise ValueError(f"there is no class {given} among {self._logits_dimension}")
        return number

    def predictions(self, logits):
        probabilities = sigmoid(logits, name=PredictionKeys.PROBABILITIES)
        return {PredictionKeys.LOGITS: logits, PredictionKeys.PROBABILITIES: probabilities}

    def export_outputs(self, predictions):
        scores = predictions[PredictionKeys.PROBABILITIES]
        names = self._vocabulary or [str(number) for number in range(self._logits_dimension)]
        rows = gen_ops.pack([shape_of(scores)[0], 1])
        classes = ClassificationOutput(scores, tile(expand_dims(convert(names), 0), rows))
        return {
            DEFAULT_SERVING_SIGNATURE_DEF_KEY: classes,
            ServingKeys.CLASSIFY: classes,
            ServingKeys.PREDICT: PredictOutput(predictions),
        }

    def fitted_labels(self, labels, logits, size):
        if is_sparse(labels):
            labels = SparseTensor.from_value(labels)
            if self._vocabulary:
                table = index_table_from_tensor(self._vocabulary, name="class_id_lookup")
                labels = table.lookup(labels)
            told = f"labels must be in [0, {size - 1}]"
            ids = cast(labels.values, dtypes.int64)
            checks = [
                assert_less(ids, size, message=told),
                assert_greater_equal(ids, 0, message=told),
            ]
            with control_dependencies(checks):
                ids = gen_ops.identity(ids)
            labels = SparseTensor(labels.indices, ids, labels.dense_shape)
            labels = sparse_to_indicator(labels, size)
        return super().fitted_labels(labels, logits, size)

    def label_numbers(self, labels):
        return cast(labels, dtypes.float32)

    def losses(self, labels, logits):
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
        return reduce_mean(losses, -1, keepdims=True)

    def metrics(self, labels, predictions, weights, losses):
        probabilities = predictions[PredictionKeys.PROBABILITIES]
        found = {
            **areas(labels, probabilities, weights),
            **at_thresholds(labels, probabilities, weights, self._thresholds),
        }
        for number in self._measured:
            name = self._vocabulary[number] if self._vocabulary else f"class{number}"
            own, wanted = probabilities[:, number : number + 1], labels[:, number : number + 1]
            key = f"probability_mean/{name}"
            found[key] = weighted_mean(own, weights, key)
            found.update(areas(wanted, own, weights, f"/{name}"))
        return found

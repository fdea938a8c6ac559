"""The head of classes of which an example may have any number."""

from millrace._canned.classification import ClassHead
from millrace._canned.heads import PredictionKeys
from millrace._canned.measures import areas, at_thresholds, checked_thresholds, weighted_mean
from millrace._flow.checks import in_range
from millrace._graph.sparse_tensor import SparseTensor, is_sparse
from millrace._measures.losses import Reduction
from millrace._ops.arithmetic import cast, sigmoid
from millrace._ops.cross_entropies import sigmoid_cross_entropy_with_logits
from millrace._ops.reductions import reduce_mean
from millrace._ops.sparse import sparse_to_indicator
from millrace._state.index_tables import index_table_from_tensor
from millrace._values import dtypes


class MultiLabelHead(ClassHead):
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
        settings = weight_column, loss_reduction, loss_fn, name
        super().__init__(n_classes, n_classes, label_vocabulary, *settings)
        self._thresholds = checked_thresholds(thresholds)
        self._measured = [self._number(each) for each in classes_for_class_based_metrics or ()]

    def _number(self, given):
        classes = range(self._n_classes)
        if isinstance(given, str):
            classes = self._vocabulary or []
        if given not in classes:
            raise ValueError(
                f"there is no class {given} among {self._n_classes}: classes_for_class_based_metrics are "
                "numbers from 0 on, or labels of the label_vocabulary"
            )
        return classes.index(given)

    def predictions(self, logits):
        probabilities = sigmoid(logits, name=PredictionKeys.PROBABILITIES)
        return {PredictionKeys.LOGITS: logits, PredictionKeys.PROBABILITIES: probabilities}

    def fitted_labels(self, labels, logits, size):
        if is_sparse(labels):
            labels = SparseTensor.from_value(labels)
            if self._vocabulary:
                table = index_table_from_tensor(self._vocabulary, name="class_id_lookup")
                labels = table.lookup(labels)
            told = f"labels must be in [0, {size - 1}]"
            ids = in_range(cast(labels.values, dtypes.int64), size - 1, told)
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

"""What compile makes of a model: a loss, metrics, and the steps that train, test and predict."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._keras import loss_objects, losses, masks, metrics, sessions
from millrace._ops.arithmetic import add_n, cast
from millrace._ops.arrays import placeholder, reshape
from millrace._ops.gradients import gradients
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._values import dtypes


def _for_each(value, names, what):
    """A list with one for each output, of a list, a dictionary by names, or one for all."""
    if isinstance(value, dict):
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(f"{what}: {len(value)} for {len(names)} outputs, {names}")
        return list(value)
    return [value] * len(names)


class Trained:
    """A model with a loss.

    Args:
      model: has inputs, outputs, output_names, losses, updates and trainable_weights.
      optimizer: of Keras or of tf.train.
      loss: a name, function or Loss, or a list or dictionary of them.
      metrics: a list of names and functions, or a dictionary of such lists by output.
      loss_weights: numbers for several outputs; ones if None.

    Attributes:
      targets: placeholders for the labels of each output.
      weights: a placeholder for the weight of each sample.
      names: those of the numbers that steps give: the loss, that of each output, metrics.
      running: {place among the numbers: the Metric} of those that are over all steps since `reset`.
    """

    def __init__(self, model, optimizer, loss, metrics, loss_weights):
        self.model, self.optimizer = model, optimizer
        names = model.output_names
        found = [loss_objects.get(each) for each in _for_each(loss, names, "loss")]
        shares = _for_each(loss_weights, names, "loss_weights")
        self.weights = placeholder(dtypes.float32, [None], name="sample_weights")
        self.targets, self.names, self.numbers = [], ["loss"], []
        self.running = {}
        parts = []
        for name, output, function, share in zip(names, model.outputs, found, shares):
            target = _target(name, output, function)
            self.targets.append(target)
            with name_scope("loss"):
                part = self._loss_of(function, target, output)
            parts.append(part if share is None else part * share)
            if len(names) > 1:
                self.names.append(f"{name}_loss")
                self.numbers.append(part)
        with name_scope("loss"):
            self.loss = add_n([*parts, *map(convert, model.losses)])
        self._add_metrics(metrics, names, found)
        self._train = None

    def _loss_of(self, function, target, output):
        """The mean of a loss over all numbers that it gives, weighted by sample; what a mask leaves out
        counts as 0."""
        if isinstance(function, loss_objects.Loss):
            values = convert(function.call(target, output))
        else:
            values = convert(function(target, output))
        if values.shape.ndims == 0:
            return values
        weights = cast(self.weights, values.dtype.base_dtype)
        mask = masks.mask_of(output)
        if mask is not None and values.shape.ndims == mask.shape.ndims:
            values = values * cast(mask, values.dtype.base_dtype)
        if values.shape.ndims != 1:
            rest = gen_ops.fill(gen_ops.expand_dims(gen_ops.rank(values) - 1, 0), 1)
            weights = reshape(weights, gen_ops.concat_v2([[-1], rest], 0))
        total = reduce_sum(values * weights)
        if getattr(function, "reduction", "") == "sum":
            return total
        return total / cast(gen_ops.size(values), values.dtype.base_dtype)

    def _add_metrics(self, asked, names, found):
        chosen = asked or []
        for i, name in enumerate(names):
            own = chosen.get(name, []) if isinstance(chosen, dict) else chosen
            for metric in own if isinstance(own, (list, tuple)) else [own]:
                function = _metric(metric, self.targets[i], self.model.outputs[i], found[i])
                is_object = isinstance(function, metrics.Metric)
                label = metric if isinstance(metric, str) and not is_object else _label(function)
                self.names.append(f"{name}_{label}" if len(names) > 1 else label)
                with name_scope("metrics"):
                    number = function(self.targets[i], self.model.outputs[i])
                if is_object:
                    self.running[len(self.numbers) + 1] = function
                self.numbers.append(number if is_object else reduce_mean(number))

    def reset(self):
        """Has metrics with variables begin again."""
        for metric in self.running.values():
            metric.reset_states()

    def _feeds(self, inputs, targets, weights, phase):
        feeds = dict(zip(self.model.inputs, inputs))
        feeds.update(zip(self.targets, targets))
        feeds[self.weights] = weights
        return {**feeds, **phase_feed(phase)}

    def train_step(self):
        """The Operation that changes the model's variables once."""
        if self._train is None:
            variables = self.model.trainable_weights
            if not variables:
                raise ValueError("The model has no trainable weights.")
            with sessions.Tracking():
                with name_scope("training"):
                    pairs = list(zip(gradients(self.loss, variables), variables))
                    with control_dependencies(self.model.updates):
                        change = self.optimizer.apply_gradients(pairs)
                self._train = group(change, *self.model.updates)
        return self._train

    def train(self, inputs, targets, weights):
        """One step; gives the numbers of before it."""
        step = self.train_step()
        session = sessions.get_session()
        feeds = self._feeds(inputs, targets, weights, True)
        return session.run([[self.loss, *self.numbers], step], feeds)[0]

    def test(self, inputs, targets, weights):
        """The numbers for a batch."""
        feeds = self._feeds(inputs, targets, weights, False)
        fetches = [[self.loss, *self.numbers], self.model.state_updates]
        return sessions.get_session().run(fetches, feeds)[0]


def phase_feed(is_training):
    """What is fed to say whether models train; nothing if the program fixed it."""
    phase = sessions.learning_phase()
    return {} if isinstance(phase, bool) else {phase: is_training}


_SPARSE = (losses.sparse_categorical_crossentropy,)


def _is_sparse(function):
    return function in _SPARSE or isinstance(function, loss_objects.SparseCategoricalCrossentropy)


def _target(name, output, function):
    """A placeholder for labels: of the output's shape, or with one number in place of its last axis."""
    sizes = output.shape.as_list() if output.shape.ndims is not None else None
    if sizes is not None:
        sizes = [None] * (len(sizes) - 1) + [1 if _is_sparse(function) else None]
    return placeholder(output.dtype.base_dtype, sizes, name=f"{name}_target")


def _label(function):
    """The name of a metric in logs."""
    return getattr(function, "name", None) or function.__name__


def _metric(metric, target, output, loss):
    """The function of a metric; "accuracy" is the one that fits the output and its loss."""
    if metric not in ("acc", "accuracy"):
        return metrics.get(metric)
    if output.shape.as_list()[-1] == 1 or loss in (losses.binary_crossentropy,):
        return losses.binary_accuracy
    if isinstance(loss, loss_objects.BinaryCrossentropy):
        return losses.binary_accuracy
    return losses.sparse_categorical_accuracy if _is_sparse(loss) else losses.categorical_accuracy

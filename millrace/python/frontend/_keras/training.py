"""What compile makes of a model: a loss, metrics, and the steps that train, test and predict."""

from millrace import _gen as gen_ops
from millrace._flow.control_flow import group
from millrace._graph.conversion import convert
from millrace._graph.default_graph import control_dependencies, name_scope
from millrace._keras import (
    belonging,
    loss_objects,
    losses,
    masks,
    metric_objects,
    metrics,
    sessions,
)
from millrace._ops.arithmetic import add_n, cast
from millrace._ops.arrays import placeholder, reshape
from millrace._ops.gradients import gradients
from millrace._ops.reductions import reduce_mean, reduce_sum
from millrace._values import dtypes


class Compiled:
    """What compile was told.

    Attributes:
      loss: a name, function, Loss or None, or a list or dictionary of them; loss_weights: numbers for outputs.
      metrics: a list of names, functions and Metrics, a list of such lists, or a dictionary by output;
      weighted_metrics: the same, of those that samples' weights count in.
      sample_weight_mode: "temporal" where times have weights, or None; or a list or dictionary of these.
    """

    def __init__(self, loss, metrics, loss_weights, sample_weight_mode, weighted_metrics):
        self.loss, self.metrics, self.loss_weights = loss, metrics, loss_weights
        self.sample_weight_mode, self.weighted_metrics = sample_weight_mode, weighted_metrics

    def in_another_graph(self):
        """The same, with Metrics of their own: theirs have variables in the graph where they were made."""
        return Compiled(
            self.loss,
            _made_again(self.metrics),
            self.loss_weights,
            self.sample_weight_mode,
            _made_again(self.weighted_metrics),
        )


def _made_again(asked):
    if isinstance(asked, dict):
        return {name: _made_again(each) for name, each in asked.items()}
    if isinstance(asked, (list, tuple)):
        return [_made_again(each) for each in asked]
    return type(asked)(**asked.get_config()) if isinstance(asked, metrics.Metric) else asked


def _for_each(value, names, what):
    """A list with one for each output, of a list, a dictionary by names, or one for all."""
    if isinstance(value, dict) and "class_name" not in value:  # not the serialized form of one
        unknown = sorted(value.keys() - set(names))
        if unknown:
            raise ValueError(f"{what}: there are no outputs {unknown}; there are {names}")
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(f"{what}: {len(value)} for {len(names)} outputs, {names}")
        return list(value)
    return [value] * len(names)


class _Goal:
    """An output with a loss.

    Attributes:
      name, output, function: the output's name and Tensor, and its loss.
      target, weights: placeholders for its labels, and for the weight of each sample or time; or the labels
        that it was given, and ones.
      is_temporal: whether times have weights.
    """

    def __init__(self, name, output, function, mode, labels):
        if mode not in (None, "temporal"):
            raise ValueError(f'sample_weight_mode is None or "temporal", not {mode!r}')
        self.name, self.output, self.function = name, output, function
        self.is_temporal = mode == "temporal"
        rank = 1 + self.is_temporal
        if labels is None:
            self.target = _target(name, output, function)
            self.weights = placeholder(dtypes.float32, [None] * rank, name=f"{name}_sample_weights")
            return
        labels = cast(labels, output.dtype.base_dtype)
        if labels.shape.ndims is not None and labels.shape.ndims + 1 == output.shape.ndims:
            labels = gen_ops.expand_dims(labels, -1)
        self.target = labels
        self.weights = gen_ops.fill(gen_ops.shape(labels)[:rank], 1.0)


class Trained:
    """A model with a loss.

    Args:
      model: has inputs, outputs, output_names, losses, updates and trainable_weights.
      optimizer: of Keras or of tf.train.
      compiled: a Compiled.
      labels: Tensors, one for each output, that are its labels; None for placeholders.

    Attributes:
      goals: for each output with a loss: its name, `target` and `weights`.
      names: those of the numbers that steps give: the loss, that of each output, metrics.
      running: {place among the numbers: the Metric} of those that are over all steps since `reset`.

    Raises:
      ValueError: if there is no loss at all, or something is for outputs that are not there.
    """

    def __init__(self, model, optimizer, compiled, labels=None):
        self.model, self.optimizer = model, optimizer
        self._belonging = belonging.Belonging(model.inputs)
        names = model.output_names
        found = _for_each(compiled.loss, names, "loss")
        shares = _for_each(compiled.loss_weights, names, "loss_weights")
        modes = _for_each(compiled.sample_weight_mode, names, "sample_weight_mode")
        self.goals, self.names, self.numbers = [], ["loss"], []
        self.running = {}
        parts = []
        labels = labels or [None] * len(names)
        for name, output, function, share, mode, given in zip(
            names, model.outputs, found, shares, modes, labels
        ):
            if function is None:
                continue
            goal = _Goal(name, output, loss_objects.get(function), mode, given)
            self.goals.append(goal)
            with name_scope("loss"):
                part = self._loss_of(goal)
            parts.append(part if share is None else part * share)
            if len(names) > 1:
                self.names.append(f"{name}_loss")
                self.numbers.append(part)
        parts += map(convert, self._belonging.of(model.losses))
        if not parts:
            raise ValueError(
                "The model cannot be compiled because it has no loss to optimize: give one, or add_loss."
            )
        with name_scope("loss"):
            self.loss = add_n(parts)
        self._add_metrics(compiled.metrics, names, False)
        self._add_metrics(compiled.weighted_metrics, names, True)
        # What is frozen later trains here all the same, as its compile was before.
        self._variables = model.trainable_weights
        self._train = None

    def _loss_of(self, goal):
        """The mean of a loss over all numbers that it gives, weighted by sample; what a mask leaves out
        counts as 0."""
        function, output = goal.function, goal.output
        if isinstance(function, loss_objects.Loss):
            values = convert(function.call(goal.target, output))
        else:
            values = convert(function(goal.target, output))
        if values.shape.ndims == 0:
            return values
        weights = cast(goal.weights, values.dtype.base_dtype)
        mask = masks.mask_of(output)
        if mask is not None and values.shape.ndims == mask.shape.ndims:
            values = values * cast(mask, values.dtype.base_dtype)
        ranks = values.shape.ndims, weights.shape.ndims
        if ranks[0] is None or ranks[0] > ranks[1]:
            more = gen_ops.expand_dims(gen_ops.rank(values) - ranks[1], 0)
            ones = gen_ops.fill(more, 1)
            weights = reshape(weights, gen_ops.concat_v2([gen_ops.shape(weights), ones], 0))
        total = reduce_sum(values * weights)
        if getattr(function, "reduction", "") == "sum":
            return total
        return total / cast(gen_ops.size(values), values.dtype.base_dtype)

    def _add_metrics(self, asked, names, is_weighted):
        is_list = isinstance(asked, (list, tuple))
        each_has_own = isinstance(asked, dict) or (
            is_list and any(isinstance(each, (list, tuple)) for each in asked)
        )
        chosen = _for_each(asked, names, "metrics") if each_has_own else [asked] * len(names)
        seen = set()
        for goal in self.goals:
            own, labels = chosen[names.index(goal.name)] or [], set()
            for metric in own if isinstance(own, (list, tuple)) else [own]:
                function = _metric(metric, goal)
                label = _label(metric, function, is_weighted)
                if label in labels:
                    continue  # the same one under another of its names
                labels.add(label)
                if isinstance(function, metrics.Metric):
                    function = _not_in(seen, function)  # two outputs do not count into one
                self._add_name(f"{goal.name}_{label}" if len(names) > 1 else label)
                with name_scope("metrics"):
                    self.numbers.append(self._measured(goal, function, label, is_weighted))

    def _add_name(self, name):
        made, number = name, 0
        while made in self.names:
            number += 1
            made = f"{name}_{number}"
        self.names.append(made)

    def _measured(self, goal, function, label, is_weighted):
        """The number of a metric; `running` if that is no mean over all that is there."""
        weights = _weights_of(goal, is_weighted)
        if not isinstance(function, metrics.Metric):
            values = convert(function(goal.target, goal.output))
            if weights is None or not _fit(weights, values):
                return reduce_mean(values)
            # How much batches count depends on what is in them.
            mean = metric_objects.Mean(label)
            self.running[len(self.numbers) + 1] = mean
            return mean(values, sample_weight=weights)
        self.running[len(self.numbers) + 1] = function
        if weights is None:
            return function(goal.target, goal.output)
        return function(goal.target, goal.output, sample_weight=weights)

    def reset(self):
        """Has metrics with variables begin again."""
        for metric in self.running.values():
            metric.reset_states()

    def _feeds(self, inputs, targets, weights, phase):
        feeds = dict(zip(self.model.inputs, inputs))
        feeds.update(zip((goal.target for goal in self.goals), targets))
        feeds.update(zip((goal.weights for goal in self.goals), weights))
        return {**feeds, **phase_feed(phase)}

    def train_step(self, global_step=None):
        """The Operation that changes the model's variables once, and counts it in `global_step`."""
        if self._train is None:
            variables, updates = self._variables, self._belonging.of(self.model.updates)
            if not variables:
                raise ValueError("The model has no trainable weights.")
            with sessions.Tracking():
                with name_scope("training"):
                    pairs = list(zip(gradients(self.loss, variables), variables))
                    with control_dependencies(updates):
                        change = self._applied(pairs, global_step)
                self._train = group(change, *updates)
        return self._train

    def _applied(self, pairs, global_step):
        if global_step is None:
            return self.optimizer.apply_gradients(pairs)
        if not hasattr(self.optimizer, "count_in"):
            return self.optimizer.apply_gradients(pairs, global_step=global_step)
        self.optimizer.count_in(global_step)
        return self.optimizer.apply_gradients(pairs)

    def train(self, inputs, targets, weights):
        """One step; gives the numbers of before it."""
        step = self.train_step()
        session = sessions.get_session()
        feeds = self._feeds(inputs, targets, weights, True)
        return session.run([[self.loss, *self.numbers], step], feeds)[0]

    def test(self, inputs, targets, weights):
        """The numbers for a batch."""
        feeds = self._feeds(inputs, targets, weights, False)
        fetches = [[self.loss, *self.numbers], self._belonging.of(self.model.state_updates)]
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


# By what it may be called: the name that it has in logs, and the functions of it for two classes, for
# numbers of classes, and for vectors of them.
_ACCURACY = (
    "acc",
    losses.binary_accuracy,
    losses.sparse_categorical_accuracy,
    losses.categorical_accuracy,
)
_ENTROPY = (
    "ce",
    losses.binary_crossentropy,
    losses.sparse_categorical_crossentropy,
    losses.categorical_crossentropy,
)
_FITTED = {"acc": _ACCURACY, "accuracy": _ACCURACY, "ce": _ENTROPY, "crossentropy": _ENTROPY}


def _fitted(metric):
    """What _FITTED has of it, or None."""
    return _FITTED.get(metric) if isinstance(metric, str) else None


def _label(metric, function, is_weighted):
    """The name of a metric in logs, as TensorFlow 1 has it: that of the function ("mae" is in full there), but
    short for what fits the loss."""
    fitted = _fitted(metric)
    label = fitted[0] if fitted else getattr(function, "name", None) or function.__name__
    return f"weighted_{label}" if is_weighted else label


def _metric(metric, goal):
    """The function of a metric; "accuracy" and "crossentropy" are those that fit the output and its loss."""
    fitted = _fitted(metric)
    if fitted is None:
        return metrics.get(metric)
    loss, (_, of_two, of_numbers, of_vectors) = goal.function, fitted
    is_binary = loss is losses.binary_crossentropy or isinstance(
        loss, loss_objects.BinaryCrossentropy
    )
    if goal.output.shape.as_list()[-1] == 1 or is_binary:
        return of_two
    return of_numbers if _is_sparse(loss) else of_vectors


def _not_in(seen, metric):
    """A Metric, or one like it if it is among those that were seen; it is then."""
    if metric in seen:
        metric = type(metric)(**metric.get_config())
    seen.add(metric)
    return metric


def _weights_of(goal, is_weighted):
    """By what a metric's values count: what a mask has, times samples' weights; None for all alike."""
    mask = masks.mask_of(goal.output)
    mask = None if mask is None else cast(mask, dtypes.float32)
    if not is_weighted or mask is None:
        return goal.weights if is_weighted else mask
    weights = goal.weights if goal.is_temporal else gen_ops.expand_dims(goal.weights, 1)
    return weights * mask


def _fit(weights, values):
    """Whether weights are for the first axes of values."""
    ranks = weights.shape.ndims, values.shape.ndims
    return None not in ranks and ranks[0] <= ranks[1]

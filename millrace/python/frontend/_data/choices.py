"""Datasets of which each element comes from one of several others, as a dataset of numbers or chance says."""

from millrace import _gen as gen_ops
from millrace._data.dataset import Dataset
from millrace._data.elements import Spec
from millrace._data.functions import Traced
from millrace._data.transformations import RandomDataset
from millrace._flow.cond_context import cond
from millrace._flow.control_flow import Assert
from millrace._flow.while_context import while_loop
from millrace._graph.conversion import constant, convert
from millrace._graph.default_graph import control_dependencies
from millrace._graph.operation import Tensor
from millrace._ops.stateless_values import stateless_multinomial
from millrace._values import dtypes
from millrace._values.tensor_shape import TensorShape

__all__ = ["choose_from_datasets", "sample_from_datasets"]


def choose_from_datasets(datasets, choice_dataset):
    """Elements of several datasets, in the order in which another one names these.

    Args:
      datasets: a list of Datasets whose elements are built alike.
      choice_dataset: a Dataset of int64 scalars, the place in the list that the next element comes from.
        What names a dataset that is over is passed over.

    Returns:
      a Dataset, which ends with choice_dataset, or when all datasets are over.

    Raises:
      TypeError: if choice_dataset is of something else, or the datasets are of different types.
      ValueError: if there are none. InvalidArgumentError when it runs, for a place that is none.
    """
    choices = choice_dataset.spec
    is_scalar = choices.structure is Tensor and choices.shapes[0].is_compatible_with([])
    if not is_scalar or choices.types[0] != dtypes.int64:
        raise TypeError("choice_dataset must be a dataset of scalar `tf.int64` tensors.")
    if not datasets:
        raise ValueError("choose_from_datasets needs at least one dataset")
    spec = datasets[0].spec
    for each in datasets[1:]:
        spec = spec.common_with(each.spec, "choose from")
    walks = _Walks([choice_dataset, *datasets], spec)
    init = Traced(walks.begin, [Spec((), [], [])], "choice_init")
    step = Traced(walks.next, [walks.state], "choice_next")
    end = Traced(walks.end, [walks.state], "choice_end")
    variant = gen_ops.generator_dataset(
        init.captured,
        step.captured,
        end.captured,
        init_func=init.name,
        next_func=step.name,
        finalize_func=end.name,
        **spec.attrs(),
    )
    return Dataset(variant, spec)


class _Walks:
    """The walks along the dataset of choices and along the others, as nodes of the three functions.

    Attributes:
      state: the Spec of what the functions hand on: the handles of the walks, and what ends each.
    """

    def __init__(self, datasets, spec):
        self._datasets, self._spec = datasets, spec
        count = len(datasets)
        kinds = [dtypes.resource] * count + [dtypes.variant] * count
        self.state = Spec((Tensor,) * (2 * count), kinds, [TensorShape([])] * (2 * count))

    def begin(self):
        handles, deleters = [], []
        for dataset in self._datasets:
            handle, deleter = gen_ops.anonymous_iterator_v2(**dataset.spec.attrs())
            gen_ops.make_iterator(dataset.variant, handle)
            handles.append(handle)
            deleters.append(deleter)
        return (*handles, *deleters)

    def end(self, *state):
        handles, deleters = state[: len(self._datasets)], state[len(self._datasets) :]
        for handle, deleter in zip(handles, deleters):
            gen_ops.delete_iterator(handle, deleter)
        return constant(0, dtypes.int64)

    def next(self, *state):
        """The element that is named next, by the first choice of a dataset that is not over."""
        choices, *others = state[: len(self._datasets)]
        attrs = self._spec.attrs()

        def choose(found, chosen, is_over):
            place = gen_ops.iterator_get_next(choices, **self._datasets[0].spec.attrs())[0]
            is_one = gen_ops.logical_and(
                gen_ops.greater_equal(place, 0), gen_ops.less(place, len(others))
            )
            told = [f"choice_dataset names one of {len(others)} datasets by the number", place]
            with control_dependencies([Assert(is_one, told)]):
                place = gen_ops.identity(place)
            chosen = self._taken(place, others, attrs)
            found = gen_ops.optional_has_value(chosen)
            is_it = gen_ops.equal(
                gen_ops.range(0, len(others), 1), gen_ops.cast(place, DstT="int32")
            )
            now_over = gen_ops.logical_and(is_it, gen_ops.logical_not(found))
            return found, chosen, gen_ops.logical_or(is_over, now_over)

        def goes_on(found, chosen, is_over):
            return gen_ops.logical_not(gen_ops.logical_or(found, gen_ops.all(is_over, [0])))

        begin = (constant(False), gen_ops.optional_none(), constant([False] * len(others)))
        found, chosen, _ = while_loop(goes_on, choose, begin)
        # Where all are over, so is this: a walk that asks one of them is told so.
        made = cond(
            found,
            lambda: gen_ops.optional_get_value(chosen, **attrs),
            lambda: gen_ops.iterator_get_next(others[0], **attrs),
            strict=True,
        )
        return self._spec.pack(list(made))

    def _taken(self, place, others, attrs):
        """The next element of the dataset at a place, as an optional."""

        def take(handle):
            return lambda: gen_ops.iterator_get_next_as_optional(handle, **attrs)

        chosen = take(others[-1])
        for number, handle in reversed(list(enumerate(others[:-1]))):
            chosen = _either(gen_ops.equal(place, number), take(handle), chosen)
        return chosen()


def _either(is_it, one, other):
    return lambda: cond(is_it, one, other)


def sample_from_datasets(datasets, weights=None, seed=None):
    """Elements of several datasets, each drawn by chance from one that is not over.

    Args:
      datasets: a list of Datasets whose elements are built alike.
      weights: how likely each is: a list or vector of numbers with a point, or a Dataset of such vectors,
        one for each draw; None for all alike.
      seed: a seed for what is drawn.

    Returns:
      a Dataset, which ends when all are over, or the dataset of weights is.

    Raises:
      TypeError: for weights of another type, or datasets of different types.
      ValueError: if there are not as many weights as datasets.
    """
    seeds = RandomDataset(seed=seed).batch(2)
    count = len(datasets)
    if isinstance(weights, Dataset):
        pairs = Dataset.zip((weights, seeds))
        return choose_from_datasets(datasets, pairs.map(_drawn))
    weights = convert([1.0] * count if weights is None else weights, name="weights")
    if weights.dtype not in (dtypes.float32, dtypes.float64):
        raise TypeError(
            "`weights` must be convertible to a tensor of `tf.float32` or `tf.float64`."
        )
    if not weights.shape.is_compatible_with([count]):
        raise ValueError("`weights` must be a vector of length `len(datasets)`.")
    return choose_from_datasets(datasets, seeds.map(lambda seed: _drawn(weights, seed)))


def _drawn(weights, seed):
    """A place, int64, drawn with these weights."""
    logits = gen_ops.expand_dims(gen_ops.log(weights), 0)
    drawn = stateless_multinomial(logits, 1, seed=seed, output_dtype=dtypes.int64)
    return gen_ops.reshape(drawn, [])

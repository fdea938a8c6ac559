"""Datasets of which each element comes from one of several others, as a dataset of numbers or chance says."""

from millrace import _gen as gen_ops
from millrace._data.dataset import Dataset, made
from millrace._data.transformations import RandomDataset
from millrace._graph.conversion import convert
from millrace._graph.operation import Tensor
from millrace._ops.stateless_values import stateless_multinomial
from millrace._values import dtypes

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
    inputs = [each.variant for each in datasets]
    return made("directed_interleave_dataset", spec, choice_dataset.variant, inputs)


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

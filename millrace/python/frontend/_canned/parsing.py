"""What tf.parse_example takes for the columns of an estimator and its labels."""

from millrace._columns.input_layers import make_parse_example_spec
from millrace._columns.numeric import NumericColumn, numeric_column
from millrace._ops.parsing import FixedLenFeature
from millrace._values import dtypes


def classifier_parse_example_spec(
    feature_columns, label_key, label_dtype=dtypes.int64, label_default=None, weight_column=None
):
    """The features to parse for a classifier.

    Args:
      feature_columns: its columns.
      label_key: the key of the labels, one for each example.
      label_dtype: their type; string if they are of a vocabulary.
      label_default: the label of an example that lacks it; None if it must be there.
      weight_column: the key of the weights, or a numeric_column.

    Raises:
      ValueError: if the label is a feature of a column too, or the weights are another.
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def regressor_parse_example_spec(
    feature_columns,
    label_key,
    label_dtype=dtypes.float32,
    label_default=None,
    label_dimension=1,
    weight_column=None,
):
    """The features to parse for a regressor; arguments as for classifier_parse_example_spec.

    Args:
      label_dimension: how many numbers an example has.
    """
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label(feature_columns, label_key, label, weight_column)


def _with_label(columns, key, label, weight_column):
    spec = make_parse_example_spec(columns)
    if key in spec:
        raise ValueError(f"label should not be used as feature. label_key: {key}, features: {spec}")
    spec[key] = label
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column)
    if not isinstance(weight_column, NumericColumn):
        raise ValueError(
            f"weight_column should be a key or a numeric_column. Given: {weight_column}"
        )
    spec.update(weight_column.parse_example_spec)
    return spec

"""tf.contrib.layers' functions of feature columns: a matrix of all features, their weighted sum, how they are parsed."""

from millrace import _gen as gen_ops
from millrace._columns.column import CategoricalColumn, DenseColumn, Inputs
from millrace._columns.input_layers import check_batches, matrix_of, parts_of
from millrace._columns.older_numbers import real_valued_column
from millrace._graph.conversion import convert
from millrace._graph.sparse_tensor import SparseTensor, to_tensor_or_sparse
from millrace._ops.arithmetic import add_n
from millrace._ops.arrays import concat
from millrace._ops.layers import bias_add
from millrace._ops.linear_algebra import matmul
from millrace._ops.parsing import parse_example
from millrace._ops.sparse_embeddings import safe_embedding_lookup_sparse
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import variable_scope


def _order(column):
    """What columns are sorted by; those of tf.feature_column have a name alone."""
    return getattr(column, "order", column.name)


def check_feature_columns(feature_columns):
    """Raises ValueError if two columns are the same, or they are a dictionary."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    known = set()
    for column in feature_columns:
        if column in known:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means that the "
                "column is almost identical to another column, and one must be discarded."
            )
        known.add(column)


def _sorted(feature_columns):
    feature_columns = list(feature_columns)
    check_feature_columns(feature_columns)
    return sorted(feature_columns, key=_order)


def input_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    weight_collections=None,
    trainable=True,
    scope=None,
    cols_to_outs=None,
):
    """Features as one matrix, the input of a network.

    Args:
      columns_to_tensors: {key: a Tensor or SparseTensor}, or what parse_feature_columns_from_examples gave.
      feature_columns: columns of numbers, buckets, one_hot_column and embeddings.
      weight_collections: names of collections that variables join.
      trainable: whether variables are to be trained.
      scope: the variable scope; "input_from_feature_columns" by default.
      cols_to_outs: a dictionary that is given the Tensor of each column, of shape [batch, n].

    Returns:
      a float32 Tensor of shape [batch, numbers of all columns]: by kind of column, and then by name. A table
      is called "weights", in a scope of its column's name.

    Raises:
      ValueError: for columns of another kind, one that comes twice, a feature that is missing.
    """
    columns = _sorted(feature_columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                f"Error creating input layer for column: {column.name}.\n{type(column).__name__} is not "
                "supported in DNN. Please use embedding_column or one_hot_column."
            )
    inputs = Inputs(columns_to_tensors, weight_collections, trainable)
    made = []
    with variable_scope(scope, "input_from_feature_columns", list(columns_to_tensors.values())):
        for column in columns:
            with variable_scope(None, column.scope_name):
                made.append(matrix_of(column, inputs))
            if cols_to_outs is not None:
                cols_to_outs[column] = made[-1]
        check_batches(made, columns)
        return concat(made, 1)


def weighted_sum_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    num_outputs,
    weight_collections=None,
    trainable=True,
    scope=None,
):
    """The weighted sum of all features, with a bias.

    Args:
      columns_to_tensors, weight_collections, trainable: as for input_from_feature_columns.
      feature_columns: columns of numbers and categories; of the latter each has a weight.
      num_outputs: how many sums there are.
      scope: the variable scope; "weighted_sum_from_feature_columns" by default.

    Returns:
      (a float32 Tensor of shape [batch, num_outputs], {column: [its variables]}, the bias). All begin as zeros.

    Raises:
      ValueError: for columns of another kind, one that comes twice, a feature that is missing.
    """
    columns = _sorted(feature_columns)
    inputs = Inputs(columns_to_tensors, weight_collections, trainable)
    name = "weighted_sum_from_feature_columns"
    with variable_scope(scope, name, list(columns_to_tensors.values())):
        sums, variables = [], {}
        for column in columns:
            with variable_scope(None, column.scope_name):
                weights, made = _weighted(column, inputs, num_outputs)
            sums.append(gen_ops.reshape(made, [-1, num_outputs]))
            variables[column] = parts_of(weights)
        check_batches(sums, columns)
        bias = inputs.variable("bias_weight", [num_outputs], zeros_initializer())
        return bias_add(add_n(sums), bias), variables, bias


def _weighted(column, inputs, num_outputs):
    """(the weights, the sums of a column's features times them)."""
    if isinstance(column, CategoricalColumn):
        ids, factors = column.ids_and_weights(inputs)
        shape = [column.num_buckets, num_outputs]
        weights = inputs.variable("weights", shape, zeros_initializer())
        return weights, safe_embedding_lookup_sparse(
            weights, ids, factors, combiner=column.combiner, name=f"{column.scope_name}_weights"
        )
    if not hasattr(column, "normalizer"):
        raise ValueError(
            f"Error creating weighted sum for column: {column.name}.\n{type(column).__name__} is not supported in "
            "linear models. Please use a sparse column."
        )
    shape = [column.variable_shape.num_elements(), num_outputs]
    weights = inputs.variable("weight", shape, zeros_initializer())
    return weights, matmul(matrix_of(column, inputs), weights)


def create_feature_spec_for_parsing(feature_columns):
    """{key: a feature} for tf.parse_example, of all columns."""
    spec = {}
    for column in feature_columns:
        spec.update(column.parse_example_spec)
    return spec


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """Examples as features, and as what columns make of them, for input_from_feature_columns and its like.

    Args:
      serialized: a vector of Examples as bytes.
      feature_columns: columns.
      name: a name for the node; example_names: names of the Examples, told where one is wrong.

    Returns:
      {key or column: a Tensor or SparseTensor}.

    Raises:
      ValueError: if a column comes twice.
    """
    columns = _sorted(feature_columns)
    spec = create_feature_spec_for_parsing(columns)
    parsed = parse_example(serialized, spec, name=name, example_names=example_names)
    return {**parsed, **_transformed(parsed, columns)}


def transform_features(features, feature_columns):
    """{column: what it makes of features, a Tensor or SparseTensor}. ValueError if a column comes twice."""
    return _transformed(features, _sorted(feature_columns))


def _transformed(features, columns):
    inputs = Inputs(features)
    return {column: inputs.get(column) for column in columns}


def infer_real_valued_columns(features):
    """A list of real_valued_columns of features: as many numbers as each has.

    Args:
      features: {key: Tensor}, or one Tensor, whose key is then "".

    Raises:
      ValueError: for a SparseTensor, or what is no number.
    """
    if not isinstance(features, dict):
        features = {"": features}
    return [_of_numbers(key, feature) for key, feature in features.items()]


def _of_numbers(key, feature):
    feature = to_tensor_or_sparse(feature)
    if isinstance(feature, SparseTensor):
        raise ValueError(
            "SparseTensor is not supported for auto detection. Please define corresponding FeatureColumn "
            f"for tensor {key} {feature}."
        )
    dtype = convert(feature).dtype.base_dtype
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(
            "Non integer or non floating types are not supported for auto detection. Please define "
            f"corresponding FeatureColumn for tensor {key} {feature}."
        )
    return real_valued_column(key, feature.shape[1:].num_elements() or 1, dtype=dtype)

"""Features as the input of a model: joined to one matrix, or weighted and added up; how they are parsed."""

from millrace import _gen as gen_ops
from millrace._columns.column import CategoricalColumn, DenseColumn, FeatureColumn, Inputs
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._ops.arithmetic import add_n
from millrace._ops.arrays import concat
from millrace._ops.layers import bias_add
from millrace._ops.linear_algebra import matmul
from millrace._ops.sparse_embeddings import safe_embedding_lookup_sparse
from millrace._ops.sparse_layout import sparse_reshape
from millrace._state.initializers import zeros_initializer
from millrace._state.named_variables import get_variable_scope, variable_scope


def checked_columns(columns):
    """The columns as a list.

    Raises:
      ValueError: if there are none, one is no column, or two have one name.
    """
    if isinstance(columns, FeatureColumn):
        columns = [columns]
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns, known = list(columns), {}
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be feature columns. Given (type {type(column)}): {column}."
            )
        if column.name in known:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {known[column.name]}. This "
                "usually means that these columns refer to same base feature. Either one must be discarded "
                "or a duplicated but renamed item must be inserted in features dict."
            )
        known[column.name] = column
    return columns


def check_batches(tensors, columns):
    """Raises ValueError if Tensors, one of each column, are known to be of batches of different sizes."""
    known = None
    for tensor, column in zip(tensors, columns):
        size = tensor.shape.as_list()[0] if tensor.shape.ndims else None
        if size is None:
            continue
        if known is not None and known[1] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({known[0].name}, {column.name}): ({known[1]}, {size})"
            )
        known = column, size


def _by_name(columns):
    return sorted(columns, key=lambda column: column.name)


def matrix_of(column, inputs):
    """A dense column's numbers, a row for each example."""
    numbers = column.dense(inputs)
    size = column.variable_shape.num_elements()
    made = gen_ops.reshape(numbers, gen_ops.pack([gen_ops.shape(numbers)[0], size]))
    batch = numbers.shape.as_list()[0] if numbers.shape.ndims else None
    made.set_shape([batch, size])
    return made


def checked_dense_columns(columns):
    """Dense columns, by their names. ValueError if one is another, and as checked_columns."""
    columns = checked_columns(columns)
    for column in columns:
        if not isinstance(column, DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    return _by_name(columns)


def joined_columns(columns, inputs):
    """What input_layer gives for checked columns and their Inputs, with each column's variables in a scope of
    its name in the current one, which must say whether they are there already."""
    made = []
    for column in columns:
        with variable_scope(column.scope_name):
            made.append(matrix_of(column, inputs))
    check_batches(made, columns)
    return concat(made, 1)


def input_layer(
    features,
    feature_columns,
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
    cols_to_output_tensors=None,
):
    """Features as one matrix, the input of a network.

    Args:
      features: {key: a Tensor or SparseTensor}.
      feature_columns: dense columns: of numbers, buckets, indicators, embeddings.
      weight_collections: names of collections that variables join.
      trainable: whether variables are to be trained.
      cols_to_vars: a dictionary that is given the list of variables of each column.
      cols_to_output_tensors: a dictionary that is given the Tensor of each column, of shape [batch, n].

    Returns:
      a float32 Tensor of shape [batch, numbers of all columns], in the order of the columns' names.
      Variables are in the scope "input_layer", each column's in one of its name.

    Raises:
      ValueError: for columns of another kind, two of one name, a feature that is missing.
    """
    columns = checked_dense_columns(feature_columns)
    inputs = Inputs(features, weight_collections, trainable)
    made = []
    with variable_scope(None, "input_layer", list(features.values())):
        for column in columns:
            with variable_scope(None, column.scope_name):
                before = set(map(id, get_collection(GraphKeys.GLOBAL_VARIABLES)))
                made.append(matrix_of(column, inputs))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _own_variables(before)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = made[-1]
        check_batches(made, columns)
        return concat(made, 1)


def _own_variables(before):
    """The variables of the current scope, and what joined all variables since `before`."""
    prefix = get_variable_scope().name + "/"
    return [
        variable
        for variable in get_collection(GraphKeys.GLOBAL_VARIABLES)
        if id(variable) not in before or variable.name.startswith(prefix)
    ]


def linear_model(
    features,
    feature_columns,
    units=1,
    sparse_combiner="sum",
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
):
    """The weighted sum of all features, with a bias.

    Args:
      features: {key: a Tensor or SparseTensor}.
      feature_columns: dense and categorical columns; of the latter each category has a weight.
      units: how many sums there are.
      sparse_combiner: "sum", "mean" or "sqrtn", of the weights of categories if an example has several.
      weight_collections: names of collections that variables join.
      trainable: whether variables are to be trained.
      cols_to_vars: a dictionary that is given the list of variables of each column, and the bias under
        "bias".

    Returns:
      a float32 Tensor of shape [batch, units]. Variables are in the scope "linear_model": "bias_weights",
      and each column's "weights" in a scope of its name. All begin as zeros.

    Raises:
      ValueError: for columns of another kind, two of one name, a feature that is missing.
    """
    columns = checked_columns(feature_columns)
    for column in columns:
        if not isinstance(column, (DenseColumn, CategoricalColumn)):
            raise ValueError(
                "Items of feature_columns must be either a DenseColumn or CategoricalColumn. Given: "
                f"{column}"
            )
    inputs = Inputs(features, weight_collections, trainable)
    found, scopes = {}, _scopes(columns)
    with variable_scope(None, "linear_model", list(features.values())):
        sums = []
        for name, column in scopes:
            with variable_scope(name):
                weights, made = _weighted(column, inputs, units, sparse_combiner)
            sums.append(made)
            found[column] = parts_of(weights)
        check_batches(sums, [column for _, column in scopes])
        bias = inputs.variable("bias_weights", [units], zeros_initializer())
        found["bias"] = parts_of(bias)
        predictions = bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")
    if cols_to_vars is not None:
        cols_to_vars.update(found)
    return predictions


def _scopes(columns):
    """[(name of its scope, column)], by that name: x, or x_1 if x was opened beside this model before."""
    found = []
    for column in _by_name(columns):
        with variable_scope(None, column.scope_name, auxiliary_name_scope=False) as scope:
            found.append((scope.name.rpartition("/")[2], column))
    return sorted(found, key=lambda pair: pair[0])


def _weighted(column, inputs, units, sparse_combiner):
    """(the weights, the sums of a column's features times them)."""
    if not isinstance(column, CategoricalColumn):
        numbers = matrix_of(column, inputs)
        shape = [column.variable_shape.num_elements(), units]
        weights = inputs.variable("weights", shape, zeros_initializer())
        return weights, matmul(numbers, weights, name="weighted_sum")
    ids, factors = column.ids_and_weights(inputs)
    shape = gen_ops.pack([ids.dense_shape[0], -1])
    ids = sparse_reshape(ids, shape)
    factors = None if factors is None else sparse_reshape(factors, shape)
    weights = inputs.variable("weights", [column.num_buckets, units], zeros_initializer())
    return weights, safe_embedding_lookup_sparse(
        weights, ids, factors, combiner=sparse_combiner, name="weighted_sum"
    )


def parts_of(variable):
    """The parts of a variable: itself, if it is in one."""
    return list(getattr(variable, "parts", [variable]))


def make_parse_example_spec(feature_columns):
    """What tf.parse_example takes for `features`, for all columns.

    Raises:
      ValueError: if one is no column, or two want different things of one key.
    """
    spec = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be feature columns. Given: {column}")
        for key, feature in column.parse_example_spec.items():
            if spec.setdefault(key, feature) != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {feature} and "
                    f"{spec[key]}"
                )
    return spec

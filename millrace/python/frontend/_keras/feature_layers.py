"""Feature columns as the first layer of a model."""

from millrace._columns.column import Inputs
from millrace._columns.input_layers import checked_dense_columns, joined_columns
from millrace._columns.sequences import checked_sequence_columns, joined_sequences
from millrace._graph.collections import GraphKeys
from millrace._graph.default_graph import get_collection
from millrace._keras import sessions
from millrace._keras.layer import Layer
from millrace._state.named_variables import variable_scope


class _Features(Layer):
    """The base. It is called with {key: a Tensor or SparseTensor}; each column's variables are in a scope of
    its name in the layer's.

    Args:
      feature_columns: the columns; trainable, name: as for Layer.
    """

    def __init__(self, feature_columns, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.columns = self.checked(feature_columns)
        self._has_variables = False

    def checked(self, columns):
        """The columns by their names. ValueError if one is not of the kind that is wanted."""
        raise NotImplementedError

    def joined(self, inputs):
        """What the columns make of Inputs."""
        raise NotImplementedError

    def call(self, features):
        if not isinstance(features, dict):
            raise ValueError(f"We expected a dictionary here. Instead we got: {features!r}")
        known = len(get_collection(GraphKeys.GLOBAL_VARIABLES))
        # The first call makes the variables, though the layer counts as built.
        with variable_scope(self._scope, reuse=self._has_variables, auxiliary_name_scope=False):
            made = self.joined(Inputs(features, None, self.trainable))
        if not self._has_variables:
            new = get_collection(GraphKeys.GLOBAL_VARIABLES)[known:]
            trained = get_collection(GraphKeys.TRAINABLE_VARIABLES)
            for variable in new:
                is_trained = any(variable is each for each in trained)
                held = self._trainable_weights if is_trained else self._non_trainable_weights
                held.append(variable)
            sessions.track(new)
            self._has_variables = True
        return made

    def get_config(self):
        raise NotImplementedError(
            f"{type(self).__name__} {self.name}: feature columns cannot be written down; save_weights keeps "
            "the variables, and the program builds the model again."
        )


class DenseFeatures(_Features):
    """Features as one matrix: a float32 Tensor of shape [batch, numbers of all columns], by their names.

    Args:
      feature_columns: dense columns: of numbers, buckets, indicators, embeddings; others: as for Layer.

    Raises:
      ValueError: for columns of another kind, two of one name, a feature that is missing.
    """

    def checked(self, columns):
        return checked_dense_columns(columns)

    def joined(self, inputs):
        return joined_columns(self.columns, inputs)


class SequenceFeatures(_Features):
    """Features of sequences: (a float32 Tensor of shape [batch, steps, numbers of all columns], an int64 vector:
    how many steps each row has).

    Args:
      feature_columns: sequence_numeric_columns, and embedding_columns and indicator_columns of
        sequence_categorical_columns; others: as for Layer.

    Raises:
      ValueError: for other columns; when it runs, InvalidArgumentError for lengths that differ.
    """

    def checked(self, columns):
        return checked_sequence_columns(columns)

    def joined(self, inputs):
        return joined_sequences(
            self.columns, inputs, lambda column: variable_scope(column.scope_name)
        )

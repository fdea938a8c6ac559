"""What TensorBoard's projector shows: a file beside the events that names variables and what is known of their rows."""

import numpy as np

from millrace._files import paths
from millrace._values import message_text
from millrace._values.messages import Message, many

_FILE = "projector_config.pbtxt"  # the name that the projector looks for


class SpriteMetadata(Message):
    """A picture that has small ones of all rows in it, side by side: where it is, and [width, height] of one."""

    _fields = {"image_path": (1, str), "single_image_dim": (2, many(int))}


class EmbeddingInfo(Message):
    """A matrix whose rows are shown as points.

    Its values are those of the variable `tensor_name` in the checkpoint, or of the file `tensor_path`, numbers between
    tabs with a row a line. `metadata_path` has a line per row of what they are called, `bookmarks_path` views of them,
    and `tensor_shape` is [rows, columns]. Paths are absolute, or from the folder of the events.
    """

    _fields = {
        "tensor_name": (1, str),
        "metadata_path": (2, str),
        "bookmarks_path": (3, str),
        "tensor_shape": (4, many(int)),
        "sprite": (5, SpriteMetadata),
        "tensor_path": (6, str),
    }


class ProjectorConfig(Message):
    """All matrices that are shown, and of which checkpoint: the newest of the folder of the events if none is named."""

    _fields = {
        "model_checkpoint_path": (1, str),
        "embeddings": (2, many(EmbeddingInfo)),
        "model_checkpoint_dir": (3, str),
    }


class EmbeddingMetadata:
    """Columns of what is known of the rows of a matrix.

    Args:
      num_points: how many rows there are.

    Attributes:
      num_points: that number.
      column_names: in the order in which they came.
      name_to_values: {name: values}.
    """

    def __init__(self, num_points):
        self.num_points = num_points
        self.column_names = []
        self.name_to_values = {}

    def add_column(self, column_name, column_values):
        """Adds a column.

        Args:
          column_name: a name that no other has.
          column_values: a list or a NumPy array of num_points values.

        Raises:
          ValueError: if values are no flat list or vector, are more or fewer, or the name is taken.
        """
        rank = column_values.ndim if isinstance(column_values, np.ndarray) else 1
        if rank != 1:
            raise ValueError(f'"column_values" should be of rank 1, but is of rank {rank}')
        if len(column_values) and isinstance(column_values[0], list):
            raise ValueError(
                '"column_values" must be a flat list, but we detected that its first entry is a list'
            )
        if len(column_values) != self.num_points:
            raise ValueError(
                f'"column_values" should be of length {self.num_points}, but is of length '
                f"{len(column_values)}"
            )
        if column_name in self.name_to_values:
            raise ValueError(f'The column name "{column_name}" is already used')
        self.column_names.append(column_name)
        self.name_to_values[column_name] = column_values


def visualize_embeddings(summary_writer, config):
    """Writes projector_config.pbtxt, which TensorBoard reads, into the folder of a writer.

    Args:
      summary_writer: a FileWriter, or what else has get_logdir().
      config: a ProjectorConfig.

    Raises:
      ValueError: if the writer has no folder.
      OSError: if the file can't be written.
    """
    folder = summary_writer.get_logdir()
    if folder is None:
        raise ValueError("Summary writer must have a logdir")
    paths.write_whole(paths.join(folder, _FILE), message_text.to_text(config).encode())

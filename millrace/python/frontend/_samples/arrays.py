"""Arrays made ready for a model: classes as vectors, sequences of one length."""

import numpy as np


def to_categorical(y, num_classes=None, dtype="float32"):
    """Classes as vectors with a one at the place of the class.

    Args:
      y: integers from 0 on, of any shape; a last dimension of 1 is left out.
      num_classes: how many there are; one more than the largest if None.
      dtype: the type of the result.

    Returns:
      an array of y's shape with a dimension of num_classes at its end.
    """
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    classes = y.ravel()
    num_classes = num_classes or int(classes.max()) + 1
    made = np.zeros((classes.size, num_classes), dtype=dtype)
    made[np.arange(classes.size), classes] = 1
    return made.reshape(*shape, num_classes)


def normalize(x, axis=-1, order=2):
    """An array divided by its norms along an axis; where a norm is zero it stays as it is."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def pad_sequences(
    sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0
):
    """Sequences as the rows of an array: short ones filled up, long ones cut.

    Args:
      sequences: a list of lists, whose elements have one shape.
      maxlen: the length; that of the longest sequence if None.
      dtype: the type of the result.
      padding: "pre" to fill up before a sequence, "post" after it.
      truncating: "pre" to cut at the beginning, "post" at the end.
      value: what to fill up with.

    Raises:
      ValueError: if an argument makes no sense, or elements differ in shape.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(
                f"`sequences` must be a list of iterables. Found non-iterable: {sequence}"
            )
    for name, choice in (("Padding", padding), ("Truncating", truncating)):
        if choice not in ("pre", "post"):
            raise ValueError(f'{name} type "{choice}" not understood')
    if maxlen is None:
        maxlen = max((len(sequence) for sequence in sequences), default=0)
    shape = next((np.shape(sequence)[1:] for sequence in sequences if len(sequence)), ())
    text = np.issubdtype(dtype, np.str_)
    made = np.full((len(sequences), maxlen, *shape), value, dtype=object if text else dtype)
    for row, sequence in zip(made, sequences):
        if not len(sequence) or not maxlen:
            continue
        cut = np.asarray(sequence[-maxlen:] if truncating == "pre" else sequence[:maxlen], dtype)
        if cut.shape[1:] != shape:
            raise ValueError(
                f"Shape of sample {cut.shape[1:]} of a sequence is different from expected shape {shape}"
            )
        if padding == "pre":
            row[-len(cut) :] = cut
        else:
            row[: len(cut)] = cut
    return made

"""Batches of the Examples of files, by a reader and queues: tf.contrib.learn.read_batch_features."""

from millrace._files.paths import matching
from millrace._graph.conversion import constant
from millrace._graph.default_graph import name_scope
from millrace._input.batching import batch_join, shuffle_batch_join
from millrace._input.producers import string_input_producer
from millrace._input.readers import ReaderBase
from millrace._ops.parsing import parse_example


def read_batch_features(
    file_pattern,
    batch_size,
    features,
    reader,
    randomize_input=True,
    num_epochs=None,
    queue_capacity=10000,
    feature_queue_capacity=100,
    reader_num_threads=1,
    num_enqueue_threads=2,
    parse_fn=None,
    name=None,
    read_batch_size=None,
):
    """The next batch of Examples of files, by queues that tf.train.start_queue_runners starts.

    Args:
      file_pattern: a pattern of paths, or a list of them.
      batch_size: how many Examples a batch has; the last one is smaller if there are num_epochs.
      features: {key: FixedLenFeature, VarLenFeature or the like}, as for tf.parse_example.
      reader: what gives a reader when it is called, such as tf.TFRecordReader.
      randomize_input: whether files and Examples come in another order.
      num_epochs: how often all files are read, counted in a local variable; None for without end.
      queue_capacity: how many Examples the queue holds.
      reader_num_threads: how many readers fill it.
      parse_fn: must be None.
      name: the name scope.
      feature_queue_capacity, num_enqueue_threads, read_batch_size: accepted.

    Returns:
      {key: Tensor or SparseTensor}.

    Raises:
      ValueError: if no file matches; TypeError: if reader gives no reader; NotImplementedError: for parse_fn.
      OutOfRangeError when it runs after the last batch.
    """
    if parse_fn is not None:
        raise NotImplementedError(
            "read_batch_features: parse_fn= must be None; map a tf.data.Dataset"
        )
    patterns = file_pattern if isinstance(file_pattern, (list, tuple)) else [file_pattern]
    files = sorted(path for pattern in patterns for path in matching(pattern))
    if not files:
        raise ValueError(f"No files match {file_pattern}.")
    with name_scope(name, "read_batch_features", [file_pattern]):
        queue = string_input_producer(
            constant(files), num_epochs=num_epochs, shuffle=randomize_input
        )
        records = []
        for _ in range(reader_num_threads):
            made = reader()
            if not isinstance(made, ReaderBase):
                raise TypeError(
                    f"reader has to give a reader such as tf.TFRecordReader, not {made!r}"
                )
            records.append([made.read(queue)[1]])
        settings = {
            "capacity": queue_capacity,
            "allow_smaller_final_batch": num_epochs is not None,
        }
        if randomize_input:
            kept = max(queue_capacity - 3 * batch_size, batch_size)
            examples = shuffle_batch_join(records, batch_size, min_after_dequeue=kept, **settings)
        else:
            examples = batch_join(records, batch_size, **settings)
        return parse_example(examples, features)

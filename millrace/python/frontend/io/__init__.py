"""tf.io: examples, records, images, fields of text and files, as nodes of a graph; queues of tensors."""

from millrace._gen import (
    decode_base64,
    decode_bmp,
    decode_compressed,
    decode_gif,
    decode_jpeg,
    decode_png,
    encode_base64,
    encode_jpeg,
    extract_jpeg_shape,
    matching_files,
    read_file,
    write_file,
)
from millrace._input.producers import match_filenames_once
from millrace._ops.image_changes import decode_and_crop_jpeg
from millrace._ops.images import decode_image, is_jpeg
from millrace._ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    decode_csv,
    decode_raw,
    parse_example,
    parse_sequence_example,
    parse_single_example,
    parse_single_sequence_example,
    parse_tensor,
    serialize_tensor,
)
from millrace._ops.sparse import deserialize_many_sparse, serialize_many_sparse, serialize_sparse
from millrace._saving.graph_files import write_graph
from millrace._state.queues import PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from millrace._summaries.record_files import TFRecordWriter, tf_record_iterator
from millrace._summaries.record_options import TFRecordCompressionType, TFRecordOptions
from millrace.io import gfile

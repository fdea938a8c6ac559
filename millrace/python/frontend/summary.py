"""tf.summary: what a program tells of itself, for TensorBoard: nodes, messages, files of events."""

from millrace._summaries.building import (
    audio,
    get_summary_description,
    histogram,
    image,
    merge,
    merge_all,
    scalar,
    tensor_summary,
    text,
)
from millrace._summaries.file_writer import FileWriter, FileWriterCache
from millrace._summaries.messages import (
    Event,
    SessionLog,
    Summary,
    SummaryDescription,
    TaggedRunMetadata,
)

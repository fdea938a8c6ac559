"""tensorflow.core.framework.summary_pb2: summaries as messages."""

from millrace._summaries.messages import HistogramProto, Summary, SummaryMetadata

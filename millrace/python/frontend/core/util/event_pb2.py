"""tensorflow.core.util.event_pb2: what files of events hold, as messages."""

from millrace._summaries.messages import Event, LogMessage, SessionLog, TaggedRunMetadata

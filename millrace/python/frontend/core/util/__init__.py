"""tensorflow.core.util: what files of events hold."""

from millrace.core.util import event_pb2

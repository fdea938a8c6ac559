"""tensorflow.core.protobuf.saver_pb2: which nodes of a graph save and restore."""

from millrace._saving.saver_def import SaverDef

"""tensorflow.core.protobuf.rewriter_config_pb2: what may rewrite a graph."""

from millrace._run.config import RewriterConfig

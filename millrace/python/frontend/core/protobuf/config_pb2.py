"""tensorflow.core.protobuf.config_pb2: the messages of sessions."""

from millrace._run.config import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
)

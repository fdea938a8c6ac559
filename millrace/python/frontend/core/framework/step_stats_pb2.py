"""tensorflow.core.framework.step_stats_pb2: when the nodes of a step ran."""

from millrace._run.config import DeviceStepStats, NodeExecStats, StepStats

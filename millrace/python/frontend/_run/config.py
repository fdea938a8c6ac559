"""Options of sessions and of single runs, under the names of TensorFlow's protocol messages.

These are plain objects with the messages' fields. Those without an effect here are kept and ignored,
so that programs can set them.
"""

from millrace._cluster.cluster_spec import ClusterSpec
from millrace._graph.graph_def import GraphDef


class _Fields:
    """An object with known fields; unknown ones are refused, nested ones are made when first read."""

    _defaults = {}
    _nested = {}

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)

    def __getattr__(self, name):
        if name in self._nested:
            made = self._nested[name]()
            object.__setattr__(self, name, made)
            return made
        if name in self._defaults:
            value = self._defaults[name]
            if isinstance(value, (list, dict)):
                value = type(value)(value)
                object.__setattr__(self, name, value)
            return value
        raise AttributeError(f"{type(self).__name__} has no field '{name}'")

    def __setattr__(self, name, value):
        if name not in self._defaults and name not in self._nested:
            raise AttributeError(f"{type(self).__name__} has no field '{name}'")
        object.__setattr__(self, name, value)

    def HasField(self, name):
        return name in self.__dict__

    def CopyFrom(self, other):
        self.__dict__.clear()
        self.MergeFrom(other)

    def MergeFrom(self, other):
        for name, value in other.__dict__.items():
            if isinstance(value, _Fields):
                getattr(self, name).MergeFrom(value)
            else:
                setattr(
                    self, name, type(value)(value) if isinstance(value, (list, dict)) else value
                )

    def __eq__(self, other):
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None

    def __repr__(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


class OptimizerOptions(_Fields):
    """Which passes rewrite a graph before it runs: opt_level L0 turns them off."""

    L0 = -1
    L1 = 0
    DEFAULT = 0
    OFF = -1
    ON_1 = 1
    ON_2 = 2
    _defaults = {
        "opt_level": 0,
        "global_jit_level": 0,
        "do_common_subexpression_elimination": True,
        "do_constant_folding": True,
        "do_function_inlining": True,
    }


class RewriterConfig(_Fields):
    DEFAULT = 0
    ON = 1
    OFF = 2
    _defaults = {"disable_meta_optimizer": False, "constant_folding": 0, "layout_optimizer": 0}


class GraphOptions(_Fields):
    _defaults = {
        "enable_bfloat16_sendrecv": False,
        "enable_recv_scheduling": False,
        "build_cost_model": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "timeline_step": 0,
    }
    _nested = {"optimizer_options": OptimizerOptions, "rewrite_options": RewriterConfig}


class GPUOptions(_Fields):
    _defaults = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "visible_device_list": "",
        "allocator_type": "",
    }


class RPCOptions(_Fields):
    _defaults = {"use_rpc_for_inprocess_master": False, "compression_algorithm": ""}


class Experimental(_Fields):
    _defaults = {
        "share_session_state_in_clusterspec_propagation": False,
        "collective_group_leader": "",
        "executor_type": "",
    }


class ConfigProto(_Fields):
    """What a session is to be like.

    With an effect: device_filters, allow_soft_placement, log_device_placement, operation_timeout_in_ms,
    isolate_session_state, cluster_def, and turning the graph's optimization off.
    """

    _defaults = {
        "device_count": {},
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "placement_period": 0,
        "device_filters": [],
        "allow_soft_placement": False,
        "log_device_placement": False,
        "operation_timeout_in_ms": 0,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "session_inter_op_thread_pool": [],
        "cluster_def": None,
    }
    _nested = {
        "graph_options": GraphOptions,
        "gpu_options": GPUOptions,
        "rpc_options": RPCOptions,
        "experimental": Experimental,
    }


ConfigProto.Experimental = Experimental


class RunOptions(_Fields):
    """What a single run is to be like: timeout_in_ms, trace_level, output_partition_graphs."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3
    _defaults = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "report_tensor_allocations_upon_oom": False,
        "debug_options": None,
    }


class NodeExecStats(_Fields):
    """When a node ran, in microseconds: start, and how long."""

    _defaults = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "timeline_label": "",
        "thread_id": 0,
    }


class DeviceStepStats(_Fields):
    _defaults = {"device": "", "node_stats": []}


class StepStats(_Fields):
    _defaults = {"dev_stats": []}


class RunMetadata(_Fields):
    """What a run tells about itself: step_stats, partition_graphs."""

    _defaults = {"partition_graphs": []}
    _nested = {"step_stats": StepStats}


def fill_metadata(metadata, traces, graphs):
    """Puts what the C++ side traced into a RunMetadata."""
    metadata.partition_graphs = [GraphDef(data) for data in graphs]
    metadata.step_stats.dev_stats = [
        DeviceStepStats(device=device, node_stats=[_node_stats(*node) for node in nodes])
        for device, nodes in traces
    ]


def _node_stats(name, op, start, end, thread):
    return NodeExecStats(
        node_name=name,
        all_start_micros=start,
        op_end_rel_micros=end - start,
        all_end_rel_micros=end - start,
        timeline_label=f"{name} = {op}",
        thread_id=thread,
    )


def session_options(config):
    """The dictionary that _millrace.ClientSession takes for a ConfigProto (or None)."""
    if config is None:
        return {}
    if not isinstance(config, ConfigProto):
        raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__}")
    graph = config.graph_options
    options = {
        "device_filters": list(config.device_filters),
        "allow_soft_placement": bool(config.allow_soft_placement),
        "log_device_placement": bool(config.log_device_placement),
        "operation_timeout_in_ms": int(config.operation_timeout_in_ms),
        "isolate_session_state": bool(config.isolate_session_state),
        "use_per_session_threads": bool(config.use_per_session_threads),
        "names_thread_pools": bool(config.session_inter_op_thread_pool),
        "share_state_in_sent_cluster": bool(
            config.experimental.share_session_state_in_clusterspec_propagation
        ),
        "disable_optimizer": graph.optimizer_options.opt_level == OptimizerOptions.L0
        or graph.rewrite_options.disable_meta_optimizer,
    }
    if config.cluster_def is not None:
        options["cluster"] = ClusterSpec(config.cluster_def).core
    return options

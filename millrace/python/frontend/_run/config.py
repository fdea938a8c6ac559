"""Options of sessions and of single runs, under the names of TensorFlow's protocol messages.

These are plain objects with the messages' fields. Those without an effect here are kept and ignored,
so that programs can set them.
"""

from millrace._cluster.cluster_spec import ClusterSpec
from millrace._graph.graph_def import GraphDef
from millrace._run.fields import Fields
from millrace._values.messages import by_name, double, many


class OptimizerOptions(Fields):
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
    _wire = {
        "do_common_subexpression_elimination": (1, bool),
        "do_constant_folding": (2, bool),
        "opt_level": (3, int),
        "do_function_inlining": (4, bool),
        "global_jit_level": (5, int),
    }


class RewriterConfig(Fields):
    """Which rewritings of graphs are on: passed on to servers; here `constant_folding` alone is one."""

    DEFAULT = 0
    ON = 1
    OFF = 2
    AGGRESSIVE = 3
    # Of memory_optimization.
    DEFAULT_MEM_OPT = 0
    NO_MEM_OPT = 1
    MANUAL = 2
    HEURISTICS = 3
    SWAPPING_HEURISTICS = 4
    RECOMPUTATION_HEURISTICS = 5
    SCHEDULING_HEURISTICS = 6
    # Of meta_optimizer_iterations.
    DEFAULT_NUM_ITERS = 0
    ONE = 1
    TWO = 2
    _wire = {
        "layout_optimizer": (1, int),
        "disable_model_pruning": (2, bool),
        "constant_folding": (3, int),
        "memory_optimization": (4, int),
        "memory_optimizer_target_node_name_scope": (6, str),
        "arithmetic_optimization": (7, int),
        "dependency_optimization": (8, int),
        "loop_optimization": (9, int),
        "function_optimization": (10, int),
        "debug_stripper": (11, int),
        "meta_optimizer_iterations": (12, int),
        "shape_optimization": (13, int),
        "remapping": (14, int),
        "scoped_allocator_optimization": (15, int),
        "min_graph_nodes": (17, int),
        "pin_to_host_optimization": (18, int),
        "disable_meta_optimizer": (19, bool),
        "meta_optimizer_timeout_ms": (20, int),
        "fail_on_optimizer_errors": (21, bool),
        "implementation_selector": (22, int),
        "auto_mixed_precision": (23, int),
        "optimizers": (100, many(str)),
    }
    _defaults = {name: [] if number == 100 else kind() for name, (number, kind) in _wire.items()}


class GraphOptions(Fields):
    _defaults = {
        "enable_bfloat16_sendrecv": False,
        "enable_recv_scheduling": False,
        "build_cost_model": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "timeline_step": 0,
    }
    _nested = {"optimizer_options": OptimizerOptions, "rewrite_options": RewriterConfig}
    _wire = {
        "enable_recv_scheduling": (2, bool),
        "optimizer_options": (3, OptimizerOptions),
        "build_cost_model": (4, int),
        "infer_shapes": (5, bool),
        "place_pruned_graph": (6, bool),
        "enable_bfloat16_sendrecv": (7, bool),
        "timeline_step": (8, int),
        "rewrite_options": (10, RewriterConfig),
    }


class GPUExperimental(Fields):
    _defaults = {"use_unified_memory": False, "num_dev_to_dev_copy_streams": 0}
    _wire = {"use_unified_memory": (2, bool), "num_dev_to_dev_copy_streams": (3, int)}


class GPUOptions(Fields):
    _defaults = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "visible_device_list": "",
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
    }
    _nested = {"experimental": GPUExperimental}
    _wire = {
        "per_process_gpu_memory_fraction": (1, double),
        "allocator_type": (2, str),
        "deferred_deletion_bytes": (3, int),
        "allow_growth": (4, bool),
        "visible_device_list": (5, str),
        "polling_active_delay_usecs": (6, int),
        "polling_inactive_delay_msecs": (7, int),
        "force_gpu_compatible": (8, bool),
        "experimental": (9, GPUExperimental),
    }


class RPCOptions(Fields):
    _defaults = {"use_rpc_for_inprocess_master": False, "compression_algorithm": ""}
    _wire = {"use_rpc_for_inprocess_master": (1, bool), "compression_algorithm": (2, str)}


class Experimental(Fields):
    _defaults = {
        "share_session_state_in_clusterspec_propagation": False,
        "collective_group_leader": "",
        "executor_type": "",
        # How often a step is made again whose connection broke, so that each of its updates is made
        # once. None: as MILLRACE_RETRIES says. A field of our own: only clients look at it.
        "retries": None,
    }
    _wire = {
        "collective_group_leader": (1, str),
        "executor_type": (3, str),
        "share_session_state_in_clusterspec_propagation": (8, bool),
        "retries": (17000, int),
    }


class ConfigProto(Fields):
    """What a session is to be like.

    With an effect: device_filters, allow_soft_placement, log_device_placement, operation_timeout_in_ms,
    isolate_session_state, cluster_def, device_count of "CPU" for a session in this process or a server,
    intra_op_parallelism_threads (for the work of one kernel), inter_op_parallelism_threads (for kernels of
    a step), experimental.retries, and turning the graph's optimization off.
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
    _wire = {
        "device_count": (1, by_name(int)),
        "intra_op_parallelism_threads": (2, int),
        "placement_period": (3, int),
        "device_filters": (4, many(str)),
        "inter_op_parallelism_threads": (5, int),
        "gpu_options": (6, GPUOptions),
        "allow_soft_placement": (7, bool),
        "log_device_placement": (8, bool),
        "use_per_session_threads": (9, bool),
        "graph_options": (10, GraphOptions),
        "operation_timeout_in_ms": (11, int),
        "rpc_options": (13, RPCOptions),
        "isolate_session_state": (15, bool),
        "experimental": (16, Experimental),
        "share_cluster_devices_in_session": (17, bool),
    }


ConfigProto.Experimental = Experimental


class RunOptions(Fields):
    """What a single run is to be like: timeout_in_ms, trace_level, output_partition_graphs, retries.

    retries: how often this step is made again if its connection breaks, in a session that makes steps
    again; None for as often as the session says.
    """

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
        "retries": None,
    }
    _wire = {
        "trace_level": (1, int),
        "timeout_in_ms": (2, int),
        "inter_op_thread_pool": (3, int),
        "output_partition_graphs": (5, bool),
        "report_tensor_allocations_upon_oom": (7, bool),
    }


class NodeExecStats(Fields):
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
    _wire = {
        "node_name": (1, str),
        "all_start_micros": (2, int),
        "op_start_rel_micros": (3, int),
        "op_end_rel_micros": (4, int),
        "all_end_rel_micros": (5, int),
        "timeline_label": (8, str),
        "thread_id": (10, int),
    }


class DeviceStepStats(Fields):
    _defaults = {"device": "", "node_stats": []}
    _wire = {"device": (1, str), "node_stats": (2, many(NodeExecStats))}


class StepStats(Fields):
    _defaults = {"dev_stats": []}
    _wire = {"dev_stats": (1, many(DeviceStepStats))}


class RunMetadata(Fields):
    """What a run tells about itself: step_stats, partition_graphs."""

    _defaults = {"partition_graphs": []}
    _nested = {"step_stats": StepStats}
    _wire = {"step_stats": (1, StepStats), "partition_graphs": (3, many(GraphDef))}


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


def checked_retries(times):
    """How often steps are made again: an int, or None for as it is said elsewhere."""
    if times is None or (isinstance(times, int) and not isinstance(times, bool)):
        return times
    raise TypeError(f"retries must be an int or None, but got {times!r}")


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
        "intra_op_threads": int(config.intra_op_parallelism_threads),
        "inter_op_threads": int(config.inter_op_parallelism_threads),
        "cpu_devices": int(dict(config.device_count).get("CPU", 1)),
        "isolate_session_state": bool(config.isolate_session_state),
        "use_per_session_threads": bool(config.use_per_session_threads),
        "names_thread_pools": bool(config.session_inter_op_thread_pool),
        "share_state_in_sent_cluster": bool(
            config.experimental.share_session_state_in_clusterspec_propagation
        ),
        "disable_optimizer": graph.optimizer_options.opt_level == OptimizerOptions.L0
        or graph.rewrite_options.disable_meta_optimizer,
        "retries": checked_retries(config.experimental.retries),
    }
    if config.cluster_def is not None:
        options["cluster"] = ClusterSpec(config.cluster_def).core
    return options

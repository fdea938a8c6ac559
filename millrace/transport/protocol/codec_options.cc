#include "millrace/transport/protocol/codec_options.h"

#include <map>

#include "millrace/wire/config.pb.h"

namespace millrace::transport {
namespace {

Result<std::chrono::milliseconds> to_timeout(int64_t millis, std::string_view field) {
  if (millis < 0)
    return invalid(field, " is ", millis, "; 0 means none, negative ones make no sense");
  return std::chrono::milliseconds(millis);
}

}  // namespace

Result<ClusterSpec> from_proto(const tensorflow::ClusterDef& cluster) {
  ClusterSpec spec;
  for (const tensorflow::JobDef& job : cluster.job()) {
    if (job.tasks().empty()) MR_TRY(spec.add_job(job.name(), {}));
    // The map of a message has no order; errors should be the same each time.
    for (const auto& [task, address] :
         std::map<int, std::string>(job.tasks().begin(), job.tasks().end()))
      MR_TRY(spec.add_task(job.name(), task, address));
  }
  return spec;
}

void to_proto(const ClusterSpec& cluster, tensorflow::ClusterDef& message) {
  for (const auto& [name, tasks] : cluster.jobs()) {
    tensorflow::JobDef& job = *message.add_job();
    job.set_name(name);
    for (const auto& [task, address] : tasks) (*job.mutable_tasks())[task] = address;
  }
}

Result<SessionOptions> from_proto(const tensorflow::ConfigProto& config) {
  SessionOptions options;
  options.device_filters.assign(config.device_filters().begin(), config.device_filters().end());
  options.allow_soft_placement = config.allow_soft_placement();
  options.log_device_placement = config.log_device_placement();
  options.isolate_session_state = config.isolate_session_state();
  const tensorflow::GraphOptions& graph = config.graph_options();
  options.disable_optimizer =
      graph.optimizer_options().opt_level() == tensorflow::OptimizerOptions::L0 ||
      graph.rewrite_options().disable_meta_optimizer();
  options.cost_model_every = graph.build_cost_model();
  options.cost_model_after = graph.build_cost_model_after();
  MR_ASSIGN(options.operation_timeout,
            to_timeout(config.operation_timeout_in_ms(), "operation_timeout_in_ms"));
  MR_ASSIGN(options.cluster, from_proto(config.cluster_def()).with("cluster_def"));
  options.share_state_in_sent_cluster =
      config.experimental().share_session_state_in_clusterspec_propagation();
  options.threads = {.intra_op = config.intra_op_parallelism_threads(),
                     .inter_op = config.inter_op_parallelism_threads()};
  options.use_per_session_threads = config.use_per_session_threads();
  options.names_thread_pools = !config.session_inter_op_thread_pool().empty();
  return options;
}

void to_proto(const SessionOptions& options, tensorflow::ConfigProto& config) {
  for (const std::string& filter : options.device_filters) config.add_device_filters(filter);
  config.set_allow_soft_placement(options.allow_soft_placement);
  config.set_log_device_placement(options.log_device_placement);
  config.set_isolate_session_state(options.isolate_session_state);
  if (options.disable_optimizer) {
    // TensorFlow has two sets of passes, each with a switch of its own.
    tensorflow::GraphOptions& graph = *config.mutable_graph_options();
    graph.mutable_optimizer_options()->set_opt_level(tensorflow::OptimizerOptions::L0);
    graph.mutable_rewrite_options()->set_disable_meta_optimizer(true);
  }
  if (options.cost_model_every != 0) {
    config.mutable_graph_options()->set_build_cost_model(options.cost_model_every);
    config.mutable_graph_options()->set_build_cost_model_after(options.cost_model_after);
  }
  config.set_operation_timeout_in_ms(options.operation_timeout.count());
  if (!options.cluster.empty()) to_proto(options.cluster, *config.mutable_cluster_def());
  if (options.share_state_in_sent_cluster)
    config.mutable_experimental()->set_share_session_state_in_clusterspec_propagation(true);
  config.set_intra_op_parallelism_threads(options.threads.intra_op);
  config.set_inter_op_parallelism_threads(options.threads.inter_op);
  config.set_use_per_session_threads(options.use_per_session_threads);
  if (options.names_thread_pools) config.add_session_inter_op_thread_pool();
}

Result<RunOptions> from_proto(const tensorflow::RunOptions& message) {
  RunOptions options;
  options.trace =
      message.trace_level() == tensorflow::RunOptions::NO_TRACE ? Trace::off : Trace::on;
  MR_ASSIGN(options.timeout, to_timeout(message.timeout_in_ms(), "timeout_in_ms"));
  options.output_partition_graphs = message.output_partition_graphs();
  return options;
}

void to_proto(const RunOptions& options, tensorflow::RunOptions& message) {
  if (options.trace == Trace::on) message.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
  message.set_timeout_in_ms(options.timeout.count());
  message.set_output_partition_graphs(options.output_partition_graphs);
}

}  // namespace millrace::transport

#include "millrace/transport/grpc/codec_trace.h"

#include <utility>

#include "millrace/transport/grpc/chunks.h"
#include "millrace/wire/stats.pb.h"

namespace millrace::rpc {
namespace {

constexpr std::string_view kIsA = " = ";

// "Add" of "x/sum = Add(a, b)"; empty if the label has another form.
std::string op_of(std::string_view label) {
  const size_t begin = label.find(kIsA);
  const size_t end = label.find('(');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(label.substr(begin + kIsA.size(), end - begin - kIsA.size()));
}

NodeTiming from_proto(const tensorflow::NodeExecStats& stats) {
  return {.node_name = stats.node_name(),
          .op = op_of(stats.timeline_label()),
          .start_micros = stats.all_start_micros(),
          .end_micros = stats.all_start_micros() + stats.all_end_rel_micros(),
          .thread = stats.thread_id()};
}

void to_proto(const NodeTiming& timing, tensorflow::NodeExecStats& stats) {
  const int64_t took = timing.end_micros - timing.start_micros;
  stats.set_node_name(timing.node_name);
  stats.set_timeline_label(str_cat(timing.node_name, kIsA, timing.op, "()"));
  stats.set_all_start_micros(timing.start_micros);
  stats.set_scheduled_micros(timing.start_micros);
  stats.set_op_end_rel_micros(took);
  stats.set_all_end_rel_micros(took);
  stats.set_thread_id(timing.thread);
}

}  // namespace

void to_proto(const std::vector<DeviceTrace>& traces, tensorflow::StepStats& message) {
  for (const DeviceTrace& trace : traces) {
    tensorflow::DeviceStepStats& device = *message.add_dev_stats();
    device.set_device(trace.device);
    for (const NodeTiming& node : trace.nodes) to_proto(node, *device.add_node_stats());
  }
}

std::vector<DeviceTrace> from_proto(const tensorflow::StepStats& message) {
  std::vector<DeviceTrace> traces;
  for (const tensorflow::DeviceStepStats& device : message.dev_stats()) {
    DeviceTrace& trace = traces.emplace_back();
    trace.device = device.device();
    for (const tensorflow::NodeExecStats& node : device.node_stats())
      trace.nodes.push_back(from_proto(node));
  }
  return traces;
}

Result<std::string> encode_run_metadata(const RunMetadata& metadata) {
  tensorflow::RunMetadata message;
  if (!metadata.traces.empty()) to_proto(metadata.traces, *message.mutable_step_stats());
  for (const wire::GraphDef& graph : metadata.partition_graphs)
    message.add_partition_graphs(wire::serialize_graph_def(graph));
  return serialize(message);
}

Result<RunMetadata> decode_run_metadata(std::string_view bytes) {
  tensorflow::RunMetadata message;
  MR_TRY(parse(Chunks(bytes), "RunMetadata", message));
  RunMetadata metadata;
  metadata.traces = from_proto(message.step_stats());
  for (const std::string& graph : message.partition_graphs()) {
    MR_ASSIGN(wire::GraphDef parsed, wire::parse_graph_def(graph).with("partition_graphs"));
    metadata.partition_graphs.push_back(std::move(parsed));
  }
  return metadata;
}

}  // namespace millrace::rpc

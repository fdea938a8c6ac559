#include "millrace/transport/protocol/codec_trace.h"

#include <optional>
#include <utility>

#include "millrace/transport/protocol/chunks.h"
#include "millrace/wire/stats.pb.h"

namespace millrace::transport {
namespace {

constexpr std::string_view kIsA = " = ";

// "Add" of "x/sum = Add(a, b)"; empty if the label has another form.
std::string op_of(std::string_view label) {
  const size_t begin = label.find(kIsA);
  const size_t end = label.find('(');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return "";
  return std::string(label.substr(begin + kIsA.size(), end - begin - kIsA.size()));
}

// Nothing of an output whose dtype or shape is none of ours: a trace is no reason to fail a step.
std::optional<OutputTrace> from_proto(const tensorflow::NodeOutput& output) {
  const tensorflow::TensorDescription& description = output.tensor_description();
  const std::optional<DType> dtype = dtype_from_number(description.dtype());
  std::vector<int64_t> dims;
  for (const auto& dim : description.shape().dim()) dims.push_back(dim.size());
  Result<Shape> shape = Shape::create(dims);
  if (!dtype.has_value() || !shape.ok()) return std::nullopt;
  return OutputTrace{.slot = output.slot(), .dtype = *dtype, .shape = *std::move(shape)};
}

NodeTiming from_proto(const tensorflow::NodeExecStats& stats) {
  NodeTiming timing{.node_name = stats.node_name(),
                    .op = op_of(stats.timeline_label()),
                    .start_micros = stats.all_start_micros(),
                    .end_micros = stats.all_start_micros() + stats.all_end_rel_micros(),
                    .thread = stats.thread_id()};
  for (const tensorflow::NodeOutput& output : stats.output())
    if (std::optional<OutputTrace> known = from_proto(output))
      timing.outputs.push_back(*std::move(known));
  return timing;
}

void to_proto(const OutputTrace& output, tensorflow::NodeOutput& message) {
  message.set_slot(output.slot);
  tensorflow::TensorDescription& description = *message.mutable_tensor_description();
  description.set_dtype(static_cast<tensorflow::DataType>(output.dtype));
  for (const int64_t dim : output.shape.dims())
    description.mutable_shape()->add_dim()->set_size(dim);
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
  for (const OutputTrace& output : timing.outputs) to_proto(output, *stats.add_output());
}

// Elements of plain types; of others nobody knows their bytes.
int64_t bytes_of(const OutputTrace& output) {
  return is_plain(output.dtype)
             ? output.shape.num_elements() * static_cast<int64_t>(dtype_size(output.dtype))
             : 0;
}

void to_proto(const CostNode& node, tensorflow::CostGraphDef::Node& message) {
  message.set_name(node.name);
  message.set_device(node.device);
  for (const auto& [source, output] : node.inputs) {
    auto& input = *message.add_input_info();
    input.set_preceding_node(source);
    input.set_preceding_port(output);
  }
  for (const int32_t before : node.control_inputs) message.add_control_input(before);
  for (const OutputTrace& output : node.outputs) {
    auto& info = *message.add_output_info();
    info.set_size(bytes_of(output));
    info.set_alias_input_port(-1);
    info.set_dtype(static_cast<tensorflow::DataType>(output.dtype));
    for (const int64_t dim : output.shape.dims()) info.mutable_shape()->add_dim()->set_size(dim);
  }
  message.set_compute_cost(node.micros);
  message.set_compute_time(node.micros);
}

Result<std::string> encode_costs(const RareList<CostNode>& costs) {
  tensorflow::CostGraphDef message;
  for (const CostNode& node : costs) {
    tensorflow::CostGraphDef::Node& made = *message.add_node();
    made.set_id(message.node_size() - 1);
    to_proto(node, made);
  }
  return serialize(message);
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
  if (!metadata.costs.empty()) {
    MR_ASSIGN(std::string costs, encode_costs(metadata.costs));
    message.set_cost_graph(std::move(costs));
  }
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

}  // namespace millrace::transport

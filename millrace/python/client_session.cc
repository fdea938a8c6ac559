#include "millrace/python/client_session.h"

#include <utility>

#include "millrace/python/attr_conversion.h"
#include "millrace/python/numpy_tensor.h"
#include "millrace/python/status_binding.h"
#include "millrace/python/unlocked.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

// Runs `call` without the GIL, then raises what a signal handler raised meanwhile.
template <class Call>
auto waiting(const OpLibrary& library, Call&& call) {
  auto result = [&] {
    const Unlocked others_run;
    return std::forward<Call>(call)();
  }();
  library.signals->raise_caught();
  return result;
}

// As Python writes shapes: (), (3,), (2, ?).
std::string shape_text(const PartialShape& shape) {
  if (!shape.has_rank()) return "<unknown>";
  std::string made = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) made += ", ";
    made += shape.dim(axis) == kUnknownDim ? "?" : std::to_string(shape.dim(axis));
  }
  return made + (shape.rank() == 1 ? ",)" : ")");
}

py::list values_to_python(std::vector<Tensor> tensors) {
  py::list made(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) made[i] = to_numpy(std::move(tensors[i]));
  return made;
}

py::list traces_to_python(const RunMetadata& metadata) {
  py::list devices;
  for (const DeviceTrace& trace : metadata.traces) {
    py::list nodes;
    for (const NodeTiming& node : trace.nodes) {
      nodes.append(
          py::make_tuple(node.node_name, node.op, node.start_micros, node.end_micros, node.thread));
    }
    devices.append(py::make_tuple(trace.device, nodes));
  }
  return devices;
}

py::list graphs_to_python(const RunMetadata& metadata) {
  py::list made;
  for (const wire::GraphDef& graph : metadata.partition_graphs)
    made.append(py::bytes(wire::serialize_graph_def(graph)));
  return made;
}

std::vector<NamedTensor> named_feeds(const std::vector<FeedSpec>& feeds, const py::sequence& values,
                                     const py::object& convert, Lending lending) {
  std::vector<NamedTensor> made;
  made.reserve(feeds.size());
  for (size_t i = 0; i < feeds.size(); ++i)
    made.push_back({feeds[i].name, feed_value(feeds[i], values[i], convert, lending)});
  return made;
}

}  // namespace

Tensor feed_value(const FeedSpec& spec, py::handle value, const py::object& convert,
                  Lending lending) {
  auto tensor = tensor_from(value, spec.dtype, lending);
  if (!tensor) {
    const py::object array = convert(value, static_cast<int>(spec.dtype));
    tensor = tensor_from(array, spec.dtype, lending);
    if (!tensor)
      throw py::type_error("The value of a feed must convert to a NumPy array; that of '" +
                           spec.name + "' does not");
  }
  if (!spec.shape.allows(tensor->shape())) {
    throw py::value_error("Cannot feed value of shape " + shape_text(tensor->shape()) +
                          " for Tensor '" + spec.name + "', which has shape '" +
                          shape_text(spec.shape) + "'");
  }
  return std::move(*tensor);
}

// ---- ReadyStep ------------------------------------------------------------------------------

ReadyStep::~ReadyStep() {
  // Letting the step go takes locks of the master.
  const Unlocked others_run;
  callable_.reset();
}

std::vector<Tensor> ReadyStep::run_tensors(const py::sequence& values) const {
  absl::InlinedVector<Tensor, 4> feeds;
  for (size_t i = 0; i < feeds_.size(); ++i)
    feeds.push_back(feed_value(feeds_[i], values[i], convert_, Lending::for_step));
  return check(waiting(*library_, [&] { return (*callable_)(feeds); }));
}

py::list ReadyStep::run(const py::sequence& values) const {
  return values_to_python(run_tensors(values));
}

py::object ReadyStep::run_single(const py::sequence& values) const {
  std::vector<Tensor> fetched = run_tensors(values);
  return to_numpy(std::move(fetched.front()));
}

// ---- ClientSession -----------------------------------------------------------------------------

ClientSession::ClientSession(const SessionTarget& target, SessionOptions options,
                             std::optional<RetryTerms> retry, std::shared_ptr<GraphCore> core)
    : core_(std::move(core)),
      session_(check_argument(Session::create(target, std::move(options), core_->library->runtime,
                                              core_->library->signals, retry))) {}

ClientSession::~ClientSession() {
  const Unlocked others_run;
  session_.reset();
}

void ClientSession::send_new_nodes() {
  const size_t size = core_->graph().size();
  if (size == num_sent_) return;
  check(session_->extend(core_->export_from(static_cast<NodeId>(num_sent_))));
  num_sent_ = size;
}

ReadyStep ClientSession::prepare(std::vector<FeedSpec> feeds, std::vector<std::string> fetches,
                                 std::vector<std::string> targets, py::object convert) {
  std::vector<std::string> names;
  for (const FeedSpec& feed : feeds) names.push_back(feed.name);
  Callable callable = check(waiting(*core_->library, [&] {
    return session_->make_callable(std::move(names), std::move(fetches),
                                   {.targets = std::move(targets)});
  }));
  return {core_->library, std::move(callable), std::move(feeds), std::move(convert)};
}

py::tuple ClientSession::run(const std::vector<FeedSpec>& feeds, const py::sequence& values,
                             std::vector<std::string> fetches, std::vector<std::string> targets,
                             const py::object& convert, RunSettings settings) {
  auto fed = named_feeds(feeds, values, convert, Lending::for_step);
  RunMetadata metadata;
  RunArgs args{.targets = std::move(targets),
               .timeout = settings.timeout,
               .trace = settings.trace,
               .output_partition_graphs = settings.output_partition_graphs,
               .metadata = &metadata,
               .retry = settings.retry};
  auto fetched = check(waiting(*core_->library, [&] {
    return session_->run(std::move(fed), std::move(fetches), std::move(args));
  }));
  return py::make_tuple(values_to_python(std::move(fetched)), traces_to_python(metadata),
                        graphs_to_python(metadata));
}

std::string ClientSession::partial_run_setup(std::vector<std::string> feeds,
                                             std::vector<std::string> fetches,
                                             std::vector<std::string> targets) {
  return check(waiting(*core_->library, [&] {
    return session_->partial_run_setup(std::move(feeds), std::move(fetches),
                                       {.targets = std::move(targets)});
  }));
}

py::list ClientSession::partial_run(const std::string& handle, const std::vector<FeedSpec>& feeds,
                                    const py::sequence& values, std::vector<std::string> fetches,
                                    const py::object& convert) {
  // What is fed in one leg is used in later ones, too.
  auto fed = named_feeds(feeds, values, convert, Lending::copy);
  return values_to_python(check(waiting(*core_->library, [&] {
    return session_->partial_run(handle, std::move(fed), std::move(fetches));
  })));
}

std::vector<DeviceAttributes> ClientSession::list_devices() {
  return check(waiting(*core_->library, [&] { return session_->list_devices(); }));
}

void ClientSession::close() {
  check(waiting(*core_->library, [&] { return session_->close(); }));
}

}  // namespace millrace::python

// Part of bindings.h: ServedTask, ClientSession and ReadyStep. Feeds are (name, dtype number,
// shape) triples, the configuration is a dictionary with the names of SessionOptions.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "millrace/cluster/standby_jobs.h"
#include "millrace/master/once_book.h"
#include "millrace/python/attr_conversion.h"
#include "millrace/python/bindings.h"
#include "millrace/python/client_session.h"
#include "millrace/python/served_task.h"
#include "millrace/python/status_binding.h"
#include "millrace/python/unlocked.h"
#include "millrace/session/targets.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

std::vector<FeedSpec> feed_specs(const py::sequence& feeds) {
  std::vector<FeedSpec> made;
  for (const py::handle feed : feeds) {
    const auto [name, dtype, shape] = feed.cast<std::tuple<std::string, int, py::object>>();
    const auto known = dtype_from_number(dtype);
    if (!known) throw py::value_error("no type has the number " + std::to_string(dtype));
    made.push_back({name, *known, check_argument(shape_from_python(shape))});
  }
  return made;
}

SessionOptions session_options(const py::dict& config) {
  SessionOptions options;
  const auto take = [&](const char* name, auto& field) {
    if (config.contains(name)) field = config[name].cast<std::decay_t<decltype(field)>>();
  };
  int64_t timeout = 0;
  take("device_filters", options.device_filters);
  take("allow_soft_placement", options.allow_soft_placement);
  take("log_device_placement", options.log_device_placement);
  take("isolate_session_state", options.isolate_session_state);
  take("disable_optimizer", options.disable_optimizer);
  take("operation_timeout_in_ms", timeout);
  take("intra_op_threads", options.threads.intra_op);
  take("inter_op_threads", options.threads.inter_op);
  take("cpu_devices", options.cpu_devices);
  take("use_per_session_threads", options.use_per_session_threads);
  take("names_thread_pools", options.names_thread_pools);
  take("share_state_in_sent_cluster", options.share_state_in_sent_cluster);
  options.operation_timeout = std::chrono::milliseconds(timeout);
  if (config.contains("cluster")) options.cluster = config["cluster"].cast<ClusterSpec>();
  return options;
}

// How often steps are made again; none: as the runtime says, or the session.
std::optional<RetryTerms> retry_terms_of(std::optional<int> times) {
  if (!times) return std::nullopt;
  return RetryTerms{*times};
}

std::optional<RetryTerms> retry_terms_in(const py::dict& config) {
  if (!config.contains("retries")) return std::nullopt;
  return retry_terms_of(config["retries"].cast<std::optional<int>>());
}

SessionTarget session_target(const py::object& target) {
  if (py::isinstance<ServedTask>(target)) return target.cast<ServedTask&>().server();
  return target.cast<std::string>();
}

py::list device_tuples(ClientSession& session) {
  py::list made;
  for (const DeviceAttributes& device : session.list_devices()) {
    made.append(py::make_tuple(device.name, device.type, device.memory_limit, device.incarnation));
  }
  return made;
}

void reset(const py::object& target, std::vector<std::string> containers) {
  const SessionTarget where = session_target(target);
  Status status;
  {
    const Unlocked others_run;
    status = Session::reset(where, std::move(containers));
  }
  check(status);
}

// How steps under one lease are numbered: what a program that takes leases by itself keeps for
// each.
class LeasedSteps {
 public:
  explicit LeasedSteps(const std::string& lease) {
    const OnceBook::Step take = check(book_.begin(OnceBook::Kind::takes, 0));
    check(book_.end(take, {}, lease).status());
  }
  // (a number for end(), the lease for this step).
  py::tuple begin(uint64_t signature) {
    const OnceBook::Step step = check(book_.begin(OnceBook::Kind::updates, signature));
    running_[step.number] = step;
    return py::make_tuple(step.number, py::bytes(step.lease));
  }
  void end(uint64_t number, bool ok) {
    const auto step = running_.extract(number);
    if (step) check(book_.end(step.mapped(), ok ? Status() : cancelled("it failed"), {}).status());
  }

 private:
  OnceBook book_;
  std::map<uint64_t, OnceBook::Step> running_;
};

std::unique_ptr<ServedTask> served_task(std::shared_ptr<OpLibrary> library, ClusterSpec cluster,
                                        std::string job, int task, const py::dict& config,
                                        std::shared_ptr<TaskReport> report,
                                        const py::dict& standby) {
  SessionOptions options = session_options(config);
  const int cpu_devices = options.cpu_devices;
  ServerOptions made{.cluster = std::move(cluster),
                     .job = std::move(job),
                     .task = task,
                     .report = std::move(report),
                     .default_options = std::move(options),
                     .cpu_devices = cpu_devices};
  const auto text = [&](const char* name) { return standby[name].cast<std::string>(); };
  if (standby.contains("state")) made.state_folder = text("state");
  if (standby.contains("witness")) made.witness = text("witness");
  if (standby.contains("stands_by_for")) made.stands_by_for = text("stands_by_for");
  if (standby.contains("at")) {
    // It is the task that it stands by for, at another address.
    const TaskName state = check(parse_task(made.stands_by_for).with("stands_by_for"));
    check(made.cluster.move_task(state, text("at")).with("at"));
    made.job = state.job;
    made.task = state.task;
  }
  return std::make_unique<ServedTask>(std::move(library), std::move(made));
}

}  // namespace

void bind_session(py::module_& module) {
  py::class_<ServedTask>(module, "ServedTask")
      .def(py::init(&served_task), py::arg("ops"), py::arg("cluster"), py::arg("job"),
           py::arg("task"), py::arg("config"), py::arg("report"), py::arg("standby"))
      .def("keep_what_asks", &ServedTask::keep_what_asks)
      .def("start", &ServedTask::start)
      .def_property_readonly("target", &ServedTask::target)
      .def("wait", &ServedTask::wait, py::arg("seconds"))
      .def("log_waits", &ServedTask::log_waits)
      .def("end", &ServedTask::end)
      .def("stop", &ServedTask::stop);
  py::class_<ReadyStep>(module, "ReadyStep")
      .def("run", &ReadyStep::run)
      .def("run_single", &ReadyStep::run_single);
  py::class_<ClientSession>(module, "ClientSession")
      .def(py::init([](const py::object& target, const py::dict& config,
                       std::shared_ptr<GraphCore> core) {
             return std::make_unique<ClientSession>(session_target(target), session_options(config),
                                                    retry_terms_in(config), std::move(core));
           }),
           py::arg("target"), py::arg("config"), py::arg("graph"), py::keep_alive<1, 2>())
      .def("send_new_nodes", &ClientSession::send_new_nodes)
      .def_property_readonly("num_sent", &ClientSession::num_sent)
      .def("prepare",
           [](ClientSession& session, const py::sequence& feeds, std::vector<std::string> fetches,
              std::vector<std::string> targets, py::object convert) {
             return session.prepare(feed_specs(feeds), std::move(fetches), std::move(targets),
                                    std::move(convert));
           })
      .def("run",
           [](ClientSession& session, const py::sequence& feeds, const py::sequence& values,
              std::vector<std::string> fetches, std::vector<std::string> targets,
              const py::object& convert, int64_t timeout_in_ms, int trace_level,
              bool output_partition_graphs, std::optional<int> retries) {
             return session.run(feed_specs(feeds), values, std::move(fetches), std::move(targets),
                                convert,
                                {.timeout = std::chrono::milliseconds(timeout_in_ms),
                                 .trace = trace_level > 0 ? Trace::on : Trace::off,
                                 .output_partition_graphs = output_partition_graphs,
                                 .retry = retry_terms_of(retries)});
           })
      .def("partial_run_setup", &ClientSession::partial_run_setup)
      .def("partial_run",
           [](ClientSession& session, const std::string& handle, const py::sequence& feeds,
              const py::sequence& values, std::vector<std::string> fetches,
              const py::object& convert) {
             return session.partial_run(handle, feed_specs(feeds), values, std::move(fetches),
                                        convert);
           })
      .def("list_devices", &device_tuples)
      .def("close", &ClientSession::close);
  py::class_<LeasedSteps>(module, "LeasedSteps")
      .def(py::init(
          [](const py::bytes& lease) { return std::make_unique<LeasedSteps>(std::string(lease)); }))
      .def("begin", &LeasedSteps::begin)
      .def("end", &LeasedSteps::end);
  module.def("is_this_process", &is_this_process, py::arg("target"));
  module.def("reset", &reset, py::arg("target"), py::arg("containers"));
}

}  // namespace millrace::python

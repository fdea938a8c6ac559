// Part of bindings.h: ClusterSpec (jobs are {name: {task index: address}}), what TF_CONFIG says and
// which task that makes of a server, and where the process tells how it is.
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <pybind11/stl.h>

#include "millrace/cluster/environment.h"
#include "millrace/cluster/run_config.h"
#include "millrace/cluster/standby_jobs.h"
#include "millrace/cluster/task_identity.h"
#include "millrace/cluster/task_report.h"
#include "millrace/python/bindings.h"
#include "millrace/python/status_binding.h"

namespace py = pybind11;

namespace millrace::python {
namespace {

ClusterSpec cluster_from(const std::map<std::string, std::map<int, std::string>>& jobs) {
  ClusterSpec cluster;
  for (const auto& [job, tasks] : jobs) {
    if (tasks.empty()) check_argument(cluster.add_job(job, {}));
    for (const auto& [index, address] : tasks)
      check_argument(cluster.add_task(job, index, address));
  }
  return cluster;
}

py::dict jobs_of(const ClusterSpec& cluster) {
  py::dict made;
  for (const auto& [job, tasks] : cluster.jobs()) {
    py::dict addresses;
    for (const auto& [index, address] : tasks) addresses[py::int_(index)] = address;
    made[py::str(job)] = addresses;
  }
  return made;
}

// What TF_CONFIG and the arguments say, as a dictionary. Throws ValueError with the place in the
// JSON.
py::dict run_config(const std::optional<std::string>& tf_config,
                    const std::optional<std::string>& master,
                    const std::optional<std::string>& model_dir) {
  const TfConfig told =
      check_argument(TfConfig::from_environment(tf_config ? tf_config->c_str() : nullptr));
  const RunConfig config =
      check_argument(RunConfig::create(told, {.master = master, .model_dir = model_dir}));
  py::dict made;
  made["cluster"] = config.cluster;
  made["task_type"] = config.task_type;
  made["task_index"] = config.task_index;
  made["environment"] = config.environment;
  made["master"] = config.master;
  made["model_dir"] = config.model_dir;
  made["is_chief"] = config.is_chief;
  made["num_ps_replicas"] = config.num_ps_replicas;
  made["num_worker_replicas"] = config.num_worker_replicas;
  made["notes"] = told.notes;
  return made;
}

// Which task a server is: what the program says, else what the cluster leaves no choice of, else
// TF_CONFIG. Throws ValueError.
std::pair<std::string, int> task_of(const ClusterSpec& cluster,
                                    const std::optional<std::string>& job, std::optional<int> index,
                                    const std::optional<std::string>& tf_config) {
  TaskClaim otherwise;
  // A program that says all itself may have a TF_CONFIG that is not for it.
  if (!job || !index)
    otherwise = claim_of(
        check_argument(TfConfig::from_environment(tf_config ? tf_config->c_str() : nullptr)));
  const TaskName task = check_argument(which_task(cluster, {job.value_or(""), index}, otherwise));
  return {task.job, task.task};
}

template <size_t count>
py::tuple variable_names(const std::array<const char*, count>& variables) {
  py::tuple made(count);
  for (size_t i = 0; i < count; ++i) made[i] = variables[i];
  return made;
}

// None if neither is given. Throws an OpError.
std::shared_ptr<TaskReport> open_report(const std::optional<std::string>& descriptor,
                                        const std::optional<std::string>& file) {
  return check(
      TaskReport::open(descriptor ? descriptor->c_str() : nullptr, file ? file->c_str() : nullptr));
}

// How the program ends: with an error of ours (a code), of its own (code 0), or with none at all.
void tell_end(TaskReport& report, int code, const std::string& message, bool is_consequence,
              const std::string& error) {
  const Status status(static_cast<Code>(code), message);
  report.tell_end(end_of(is_consequence ? status.as_consequence() : status, error));
}

}  // namespace

void bind_cluster(py::module_& module) {
  py::class_<ClusterSpec>(module, "ClusterSpec", "Jobs, their tasks, and where these listen.")
      .def(py::init(&cluster_from), py::arg("jobs"))
      .def("jobs", &jobs_of)
      .def("__str__", &ClusterSpec::to_string)
      .def("__eq__", [](const ClusterSpec& a, const ClusterSpec& b) { return a == b; });
  module.def(
      "parse_task",
      [](const std::string& text) {
        const TaskName task = check_argument(parse_task(text));
        return std::pair(task.job, task.task);
      },
      py::arg("text"));
  module.def("which_task", &task_of, py::arg("cluster"), py::arg("job"), py::arg("index"),
             py::arg("tf_config"));
  module.attr("socket_variables") = variable_names(kSocketHandedOver);
  module.attr("report_variables") = variable_names(kReportHandedOver);
  py::class_<TaskReport, std::shared_ptr<TaskReport>>(
      module, "TaskReport", "Where this process tells how it is (docs/task_record.md).")
      .def_static("open", &open_report, py::arg("descriptor"), py::arg("file"))
      .def("tell_end", &tell_end, py::arg("code"), py::arg("message"), py::arg("is_consequence"),
           py::arg("error"));
  module.def("tells_end_of_input", &tells_end_of_input, py::arg("message"));
  module.def("run_config", &run_config, py::arg("tf_config"), py::arg("master"),
             py::arg("model_dir"));
}

}  // namespace millrace::python

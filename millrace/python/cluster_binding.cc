// Part of bindings.h: ClusterSpec, and what TF_CONFIG says: run_config(). Jobs are {name: {task
// index: address}}.
#include <cstdlib>
#include <optional>
#include <string>

#include <pybind11/stl.h>

#include "millrace/cluster/run_config.h"
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

}  // namespace

void bind_cluster(py::module_& module) {
  py::class_<ClusterSpec>(module, "ClusterSpec", "Jobs, their tasks, and where these listen.")
      .def(py::init(&cluster_from), py::arg("jobs"))
      .def("jobs", &jobs_of)
      .def("__str__", &ClusterSpec::to_string)
      .def("__eq__", [](const ClusterSpec& a, const ClusterSpec& b) { return a == b; });
  module.def("run_config", &run_config, py::arg("tf_config"), py::arg("master"),
             py::arg("model_dir"));
}

}  // namespace millrace::python

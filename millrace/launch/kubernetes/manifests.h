// A job as objects of Kubernetes, all of them built in: nothing has to be installed in the cluster.
//
//   Service   NAME            headless: makes the names by which the tasks find each other
//   ConfigMap NAME-cluster    the cluster, once for all: cluster.json
//   Job       NAME-ROLE       one per role, indexed: pod I is task I, as NAME-ROLE-I.NAME
//
// A pod knows its role and its index; `millrace join` puts them together with the cluster into
// TF_CONFIG and becomes the program. So the image holds the program and the `millrace` command. The
// pods pass the Pod Security Standard "restricted".
//
// Pure. Which namespace, which cluster and who applies them is not said here.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "millrace/base/result.h"
#include "millrace/launch/job.h"

namespace millrace {

// In the order in which they are to be made. The job passes check() and has a name. Errors:
// INVALID_ARGUMENT for a job without an image, for roles whose names become one in DNS, for what
// pods can't have (a fixed port, volumes by path).
Result<std::vector<nlohmann::ordered_json>> kubernetes_manifests(const JobSpec& job);

// The objects as one file that `kubectl apply -f` takes.
std::string to_yaml_file(const std::vector<nlohmann::ordered_json>& manifests);

// What a role is called in names of DNS: "Parameter_Server" -> "parameter-server".
std::string dns_name_of(const std::string& role);

}  // namespace millrace

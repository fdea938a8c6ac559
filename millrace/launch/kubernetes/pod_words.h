// What every description of a pod says the same way, whoever makes the pod. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "millrace/launch/job.h"

namespace millrace {

// Kubernetes replaces $(NAME) in commands and variables; of this text it makes `text`.
std::string pod_literal(const std::string& text);

// {"requests": {...}, "limits": {...}} of a container, as far as something is wanted. Cores are
// asked for and not limited: a limit makes a task wait while cores are idle.
nlohmann::ordered_json pod_resources(const Resources& wanted);

// What the Pod Security Standard "restricted" asks of a pod, and of its containers.
nlohmann::ordered_json restricted_pod();
nlohmann::ordered_json restricted_container();

}  // namespace millrace

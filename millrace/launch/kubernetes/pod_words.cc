#include "millrace/launch/kubernetes/pod_words.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"

namespace millrace {

using nlohmann::ordered_json;

std::string pod_literal(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    escaped += text[i];
    if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '(' || text[i + 1] == '$'))
      escaped += '$';
  }
  return escaped;
}

ordered_json pod_resources(const Resources& wanted) {
  ordered_json requests = ordered_json::object();
  ordered_json limits = ordered_json::object();
  if (wanted.cpus > 0) requests["cpu"] = str_cat(std::llround(wanted.cpus * 1000), "m");
  if (wanted.memory > 0) {
    requests["memory"] = std::to_string(wanted.memory);
    limits["memory"] = std::to_string(wanted.memory);
  }
  if (wanted.gpus > 0) limits["nvidia.com/gpu"] = std::to_string(wanted.gpus);
  ordered_json resources = ordered_json::object();
  if (!requests.empty()) resources["requests"] = std::move(requests);
  if (!limits.empty()) resources["limits"] = std::move(limits);
  return resources;
}

ordered_json restricted_pod() {
  return {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

ordered_json restricted_container() {
  return {{"allowPrivilegeEscalation", false},
          {"capabilities", {{"drop", ordered_json::array({"ALL"})}}}};
}

}  // namespace millrace

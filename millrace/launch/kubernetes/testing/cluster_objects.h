// Objects of the job `words`, as a cluster tells of them; for tests.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/sight.h"

namespace millrace::cluster_objects {

using Json = nlohmann::ordered_json;

// A Job of the role, as the cluster has it.
inline Json job(const std::string& role, int count, bool decides,
                const Json& status = Json::object()) {
  return {{"kind", "Job"},
          {"metadata",
           {{"name", "words-" + role},
            {"labels", {{kInstanceLabel, "words"}}},
            {"creationTimestamp", "2026-01-31T12:00:00Z"},
            {"annotations",
             {{kRoleAnnotation, role},
              {kOrderAnnotation, decides ? "1" : "0"},
              {kDecidesAnnotation, decides ? "true" : "false"},
              {kGraceAnnotation, "5000"}}}}},
          {"spec", {{"completions", count}}},
          {"status", status}};
}

// Its pod, with the state of its container.
inline Json pod(const std::string& role, int index, const Json& state,
                const std::string& made = "2026-01-31T12:00:00Z") {
  return {
      {"kind", "Pod"},
      {"metadata",
       {{"name", "words-" + role + "-" + std::to_string(index) + "-" + made},
        {"labels", {{kInstanceLabel, "words"}, {"job-name", "words-" + role}}},
        {"creationTimestamp", made},
        {"annotations", {{"batch.kubernetes.io/job-completion-index", std::to_string(index)}}}}},
      {"spec", {{"nodeName", "n1"}, {"containers", {{{"image", "words:1"}}}}}},
      {"status", {{"phase", "Running"}, {"containerStatuses", {{{"state", state}}}}}}};
}

inline Json running() { return {{"running", {{"startedAt", "2026-01-31T12:00:01Z"}}}}; }

inline Json ended(int code, const std::string& at, const std::string& message = "",
                  const std::string& reason = "Error") {
  return {{"terminated",
           {{"exitCode", code},
            {"reason", reason},
            {"message", message},
            {"startedAt", "2026-01-31T12:00:01Z"},
            {"finishedAt", "2026-01-31T12:00:" + at + "Z"}}}};
}

inline JobSight seen(const std::vector<Json>& objects, const std::vector<Json>& events = {}) {
  return sight_of("words", objects, events, seconds_of("2026-01-31T12:01:00Z")).value();
}

}  // namespace millrace::cluster_objects

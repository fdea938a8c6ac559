#include "millrace/launch/kubernetes/seen_pod.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/error_lines.h"
#include "millrace/launch/farewell.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/task_records.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kOfSigterm = 128 + 15;
constexpr const char* kOwnPort = "grpc";  // by which tasks find each other
// Kubernetes writes it on pods of Jobs that try their indexes again.
constexpr const char* kFailuresAnnotation = "batch.kubernetes.io/job-index-failure-count";

struct Waiting {
  std::string why;
  bool is_stuck;
};

Waiting waiting_of(const Json& container, const std::string& image) {
  const std::string reason = object_text(container, {"state", "waiting", "reason"});
  const std::string message = shortened(object_text(container, {"state", "waiting", "message"}));
  if (reason == "ErrImagePull" || reason == "ImagePullBackOff" || reason == "ErrImageNeverPull" ||
      reason == "InvalidImageName" || reason == "ImageInspectError" ||
      reason == "RegistryUnavailable")
    return {str_cat("image '", image, "' can't be had (", reason, "): ", message), true};
  if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing")
    return {"its container is being made", false};
  return {str_cat(reason, message.empty() ? "" : ": ", message), true};
}

// Why a pod that has no container that runs has none.
Waiting pending_of(const Json& pod) {
  for (const Json& condition : object_part(pod, {"status", "conditions"}))
    if (object_text(condition, {"type"}) == "PodScheduled" &&
        object_text(condition, {"status"}) == "False") {
      const std::string message = shortened(object_text(condition, {"message"}));
      if (object_text(condition, {"reason"}) == "SchedulingGated")
        return {"it is held back until its queue has room", false};
      return {str_cat("no machine for it: ", message), false};
    }
  for (const Json& status : object_part(pod, {"status", "containerStatuses"})) {
    if (object_part(status, {"state", "waiting"}).is_null()) continue;
    std::string image;
    for (const Json& container : object_part(pod, {"spec", "containers"}))
      image = object_text(container, {"image"});
    return waiting_of(status, image);
  }
  return {"its container is being made", false};
}

// Kubernetes has taken the pod away: its words.
std::string taken_away(const Json& pod) {
  const std::string reason = object_text(pod, {"status", "reason"});
  const std::string message = shortened(object_text(pod, {"status", "message"}));
  if (reason == "Evicted") return str_cat("evicted: ", message);
  if (reason == "NodeLost" || reason == "NodeShutdown" || reason == "Terminated")
    return str_cat("its machine is lost or goes down: ", message);
  const Json* disruption = condition_of(pod, "DisruptionTarget");
  if (disruption == nullptr) return "";
  const std::string why = object_text(*disruption, {"reason"});
  const std::string words = shortened(object_text(*disruption, {"message"}));
  if (why == "PreemptionByScheduler") return str_cat("preempted: ", words);
  if (why == "DeletionByTaintManager") return str_cat("its machine is lost: ", words);
  return str_cat("taken away (", why, "): ", words);
}

void read_last_message(const std::string& message, Pod& pod) {
  TaskRecords records;
  ErrorLines errors;
  LineSplitter lines;
  auto note = [&](std::string_view line) {
    if (std::optional<std::string> why = parse_stop_line(line)) {
      pod.was_stopped = true;
      pod.was_scaled_down = pod.was_scaled_down || *why == kScaledDown;
      pod.ends_for_good = pod.ends_for_good || *why != kAskedToEnd;
    } else if (!line.starts_with(R"({"millrace_task")")) {
      errors.note(Stream::err, line);
    }
  };
  lines.feed(message, note);
  lines.finish(note);
  records.feed(message + "\n");
  pod.facts.told = records.end();
  pod.facts.first_error_line = errors.first();
  pod.facts.last_error_line = errors.last();
  pod.facts.ends_with_error = errors.ends_with_error();
}

void read_end(const Json& end, Pod& pod) {
  pod.stage = PodStage::ended;
  pod.started = seconds_of(object_text(end, {"startedAt"}));
  pod.ended = seconds_of(object_text(end, {"finishedAt"}));
  const std::string reason = object_text(end, {"reason"});
  const std::string message = object_text(end, {"message"});
  if (reason == "StartError" || reason == "ContainerCannotRun") {
    pod.facts.start_error = shortened(message);
    return;
  }
  pod.facts.code = static_cast<int>(object_number(end, {"exitCode"}));
  if (reason == "OOMKilled") {
    pod.facts.out_of_memory_kill = true;
    // The program may have been killed, or have ended of its own when a part of it was.
    if (pod.facts.code == 0) pod.facts.out_of_memory_kill = false;
  }
  read_last_message(message, pod);
  // Codes for Kubernetes, and not the program's.
  pod.comes_again = pod.facts.code == kStartsAgain;
  if (pod.comes_again) pod.facts.code = 0;
  if (pod.ends_for_good && pod.facts.code == kEndedForGood) pod.facts.code = kOfSigterm;
}

}  // namespace

bool is_lost_with_its_machine(const Json& pod) {
  const Json* disruption = condition_of(pod, "DisruptionTarget");
  const std::string phase = object_text(pod, {"status", "phase"});
  return disruption != nullptr && phase != "Succeeded" && phase != "Failed" &&
         object_text(*disruption, {"reason"}) == "DeletionByTaintManager" &&
         !object_text(pod, {"metadata", "deletionTimestamp"}).empty();
}

Pod seen_pod(const Json& object) {
  Pod pod{.name = object_text(object, {"metadata", "name"}),
          .node = object_text(object, {"spec", "nodeName"}),
          .created = object_text(object, {"metadata", "creationTimestamp"}),
          .failures = number_of(annotation_of(object, kFailuresAnnotation))};
  for (const Json& container : object_part(object, {"spec", "containers"}))
    for (const Json& port : object_part(container, {"ports"}))
      if (const std::string name = object_text(port, {"name"}); name != kOwnPort)
        pod.ports[name] = static_cast<int>(object_number(port, {"containerPort"}));
  const std::string phase = object_text(object, {"status", "phase"});
  for (const Json& status : object_part(object, {"status", "containerStatuses"})) {
    const Json& state = object_part(status, {"state"});
    if (state.contains("terminated")) read_end(state["terminated"], pod);
    if (state.contains("running")) {
      pod.stage = PodStage::running;
      pod.started = seconds_of(object_text(state, {"running", "startedAt"}));
    }
  }
  if (phase == "Failed" && pod.stage != PodStage::ended) {
    pod.stage = PodStage::ended;
    pod.started = pod.ended = seconds_of(pod.created);
    pod.facts.code = 1;
  }
  if (is_lost_with_its_machine(object)) {
    // Nobody is there to say how it ended, or that it has.
    pod.stage = PodStage::ended;
    pod.started = std::max(pod.started, seconds_of(pod.created));
    pod.ended =
        seconds_of(object_text(*condition_of(object, "DisruptionTarget"), {"lastTransitionTime"}));
    pod.facts = {.code = kOfSigterm};
  }
  if (pod.stage == PodStage::ended) pod.facts.taken_away = taken_away(object);
  if (pod.stage == PodStage::pending) {
    Waiting waiting = pending_of(object);
    pod.waits_for = std::move(waiting.why);
    pod.is_stuck = waiting.is_stuck;
  }
  return pod;
}

}  // namespace millrace

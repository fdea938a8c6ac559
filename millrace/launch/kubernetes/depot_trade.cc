// Part of kubernetes_place.h: what goes to a job's depot, and comes from it, by kubectl exec
// (docs/design/shipped_files.md).
#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/launch/kubernetes/faults.h"
#include "millrace/launch/kubernetes/kubernetes_place.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/pod_depot.h"
#include "millrace/launch/kubernetes/seen_pod.h"
#include "millrace/launch/local_command.h"
#include "millrace/launch/shipping/depot_stream.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = std::vector<Json>;
using std::chrono::minutes;
using std::chrono::seconds;

// Of a pod that waiting may help, and of one whose image is not there, say.
constexpr minutes kToGetAPlace{5};
constexpr seconds kToBeStuck{60};
// With a pipe through the cluster's API.
constexpr seconds kForAPiece{120};
constexpr seconds kBetweenNotes{10};
constexpr int kMostFillings = 4;
// Beside the time that the tasks have.
constexpr seconds kForTheCluster{60};
constexpr int64_t kToBringThem = 3600;  // seconds that a job which is ended for that is kept

std::string how_it_ended(const Pod& pod) {
  const std::string text = classify(pod.facts, SentSignal::none).text;
  return text.empty() ? "it has ended" : text;
}

std::string mebibytes(uint64_t bytes) { return str_cat((bytes + (1 << 19)) >> 20, " MiB"); }

// Who has a pipe to the depot hears why it broke in kubectl's words, or in those of the depot.
Status broken(PipedCommand& command, const Status& fault) {
  const CommandOutput end = command.finish();
  if (end.err.empty()) return fault.ok() ? unavailable("it broke off") : fault;
  const size_t own = end.err.find("millrace depot: ");
  if (own == std::string::npos) return kubectl_fault(end.err);
  return unavailable(shortened(end.err.substr(own)));
}

}  // namespace

Result<KubernetesPlace::Depot> KubernetesPlace::depot_of_job(const std::string& name) {
  MR_ASSIGN(const Objects objects,
            api_.list({kJobs, kPods},
                      {.labels = str_cat(selector_of(name), ",", kPartLabel, "=", kDepot)}));
  Depot depot;
  for (const Json& object : objects) {
    // Whoever has all that it kept removes the Job, and the pod goes a moment later.
    if (object_text(object, {"kind"}) == "Job") {
      depot.is_there = object_text(object, {"metadata", "deletionTimestamp"}).empty();
      for (const char* end : {"Complete", "Failed", "FailureTarget"})
        depot.has_ended = depot.has_ended || condition_of(object, end) != nullptr;
    } else {
      depot.pod = seen_pod(object);
    }
  }
  return depot;
}

// Of a Job that has no pod, in the cluster's words; empty: it may be about to have one.
std::string KubernetesPlace::why_no_depot(const std::string& name) {
  const Result<Objects> events =
      api_.list({kEvents}, {.fields = str_cat("involvedObject.kind=Job,reason=FailedCreate,"
                                              "involvedObject.name=",
                                              depot_of(name))});
  if (!events.ok() || events->empty()) return "";
  return shortened(object_text(events->back(), {"message"}));
}

Result<std::string> KubernetesPlace::await_depot(const std::string& name) {
  const Clock::Time begin = clock_.now();
  std::optional<Clock::Time> stuck_since;
  std::string told;
  for (;; pause(kBetweenLooks)) {
    MR_ASSIGN(const Depot depot, depot_of_job(name));
    Pod pod = depot.pod.value_or(Pod());
    if (depot.pod && pod.stage == PodStage::running) return pod.name;
    if (!depot.pod && depot.has_ended)
      return unavailable("the pod for the job's files was removed, and they with it");
    if (depot.pod && pod.stage == PodStage::ended)
      return unavailable("the pod for the job's files, ", pod.name,
                         ", has ended: ", how_it_ended(pod));
    const bool is_long = clock_.now() >= begin + kBetweenNotes;
    if (!depot.pod && is_long) {
      pod.waits_for = why_no_depot(name);
      pod.is_stuck = !pod.waits_for.empty();
    }
    const std::string why = pod.waits_for.empty() ? "it is being made" : pod.waits_for;
    if (is_long && told != why)
      options_.note(str_cat("waits for the pod that takes the job's files: ", why));
    if (is_long) told = why;
    if (!pod.is_stuck) stuck_since.reset();
    if (pod.is_stuck && !stuck_since) stuck_since = clock_.now();
    const bool is_stuck = stuck_since && clock_.now() >= *stuck_since + kToBeStuck;
    if (is_stuck || clock_.now() >= begin + kToGetAPlace)
      return failed_precondition("the pod for the job's files does not come to run: ", why);
  }
}

std::vector<std::string> KubernetesPlace::in_depot(const std::string& pod,
                                                   const std::string& action) const {
  return kubectl({"exec", "--stdin", pod, str_cat("--container=", kDepot), "--", "millrace",
                  "depot", action, "--folder", kDepotFolder});
}

Status KubernetesPlace::fill_depot(const std::string& name, const Shipment& shipment) {
  Status last;
  for (int tries = 0; tries < kMostFillings; ++tries) {
    MR_ASSIGN(const std::string pod, await_depot(name));
    last = fill_depot_once(pod, shipment).with("bringing the job's files to its depot");
    if (last.ok() || !may_pass(last)) return last;
    options_.note(str_cat(last.message(), "; trying again"));
    pause(seconds(1 << tries));
  }
  return last;
}

Status KubernetesPlace::fill_depot_once(const std::string& pod, const Shipment& shipment) {
  MR_ASSIGN(const auto command, PipedCommand::start(in_depot(pod, "fill")));
  uint64_t sent = 0;
  Clock::Time next_note = clock_.now() + kBetweenNotes;
  const Status done = send_to_depot(shipment, [&](std::string_view bytes) {
    sent += bytes.size();
    if (clock_.now() >= next_note) {
      options_.note(str_cat("brings the job's files: ", mebibytes(sent), " of ",
                            mebibytes(shipment.num_bytes())));
      next_note = clock_.now() + kBetweenNotes;
    }
    return command->write(bytes, kForAPiece, clock_);
  });
  if (!done.ok()) return broken(*command, done);
  command->close_input();
  MR_ASSIGN(const std::string answer, command->read(kForAPiece, clock_));
  return answer == "ok\n" ? Status() : broken(*command, {});
}

Status KubernetesPlace::empty_depot(const std::string& pod, const std::string& output_dir) {
  MR_ASSIGN(const auto command, PipedCommand::start(in_depot(pod, "give")));
  command->close_input();
  OutputReader reader(output_dir);
  while (!reader.is_over()) {
    MR_ASSIGN(const std::string bytes, command->read(kForAPiece, clock_));
    if (bytes.empty()) return broken(*command, {});
    MR_TRY(reader.feed(bytes));
  }
  for (const std::string& note : reader.notes()) options_.note(note);
  return {};
}

Result<std::string> KubernetesPlace::bring_outputs(const std::string& name) {
  MR_ASSIGN(const Depot depot, depot_of_job(name));
  // The job has none, or its outputs were brought before.
  if (!depot.is_there) return std::string();
  MR_ASSIGN(const JobSpec job, job_of(name));
  if (time_to_end(job) > job.grace) {
    if (!depot.is_running())
      return error(Code::data_loss, "the outputs of '", name, "' are lost with its depot: ",
                   depot.pod ? how_it_ended(*depot.pod) : "its pod was removed");
    Status brought;
    for (int tries = 0; tries < kMostFillings; ++tries) {
      if (tries > 0) pause(seconds(1 << tries));
      brought = empty_depot(depot.pod->name, job.output_dir);
      if (!may_pass(brought)) break;
    }
    MR_TRY(brought.with(str_cat("bringing the outputs of '", name, "' to '", job.output_dir, "'")));
  }
  MR_ASSIGN(const JobSight sight, look(name));
  // What tasks that are still there will make is to have a place.
  if (sight.stage != JobStage::ended) return std::string();
  MR_TRY(api_.remove(kJobs, depot_of(name), ClusterApi::Removal::as_usual));
  return std::string();
}

// Tasks that are ended bring what they have made, as far as there is time.
Status KubernetesPlace::save_outputs(const std::string& name) {
  MR_ASSIGN(const Depot depot, depot_of_job(name));
  if (!depot.is_there || !depot.is_running()) return {};
  const Result<JobSpec> job = job_of(name);
  if (!job.ok() || time_to_end(*job) == job->grace) return {};
  MR_TRY(end_tasks(name).with(str_cat("ending the tasks of '", name, "'")));
  const Status brought = bring_outputs(name).status();
  if (brought.ok()) return {};
  return brought.then(str_cat("; nothing is removed: try again, or give its outputs up with  ",
                              "kubectl delete job ", depot_of(name)));
}

// All of them, with their Jobs, which stay.
Status KubernetesPlace::end_tasks(const std::string& name) {
  MR_ASSIGN(const JobSight before, look(name));
  if (before.stage == JobStage::ended) return {};
  MR_ASSIGN(const Objects jobs, objects_of(name, {kJobs}));
  for (const Json& job : jobs) {
    if (is_of_depot(job)) continue;
    const Json patch = {
        {"metadata", {{"annotations", {{kRestEndedAnnotation, "true"}}}}},
        {"spec", {{"activeDeadlineSeconds", 1}, {"ttlSecondsAfterFinished", kToBringThem}}}};
    MR_TRY(api_.patch(job, ClusterApi::Patch::merge, patch.dump(), Tries::several));
  }
  for (const Clock::Time begin = clock_.now();; pause(kBetweenLooks)) {
    MR_ASSIGN(
        const Objects pods,
        api_.list({kPods}, {.labels = str_cat(selector_of(name), ",", kPartLabel, "!=", kDepot)}));
    const bool are_over = std::ranges::all_of(pods, [](const Json& pod) {
      return seen_pod(pod).stage == PodStage::ended || is_lost_with_its_machine(pod);
    });
    if (are_over || clock_.now() >= begin + before.grace + kForTheCluster) return {};
  }
}

}  // namespace millrace

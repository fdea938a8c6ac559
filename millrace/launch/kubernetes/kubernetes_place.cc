#include "millrace/launch/kubernetes/kubernetes_place.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "millrace/launch/job_file.h"
#include "millrace/launch/kubernetes/faults.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/pod_secrets.h"
#include "millrace/launch/kubernetes/pod_wishes.h"
#include "millrace/launch/kubernetes/scale_plan.h"
#include "millrace/launch/kubernetes/seen_pod.h"
#include "millrace/launch/kubernetes/sight.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/shared_secret.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = ClusterApi::Objects;
using std::chrono::seconds;

// How long the tasks' grace and the cluster's own work may take until all is gone.
constexpr seconds kToBeGone{120};
std::string in_hexadecimal(uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(number >> shift) & 15];
  return text;
}

// Which objects have it go when the head goes.
Json ownership_of(const Json& head) {
  return Json::array({{{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"name", head["metadata"]["name"]},
                       {"uid", head["metadata"]["uid"]}}});
}

}  // namespace

std::string KubernetesPlace::selector_of(const std::string& name) {
  return str_cat(kManagedByLabel, "=millrace,", kInstanceLabel, "=", name);
}

KubernetesPlace::KubernetesPlace(KubernetesOptions options, Random& random, const Clock& clock)
    : options_(std::move(options)),
      random_(random),
      clock_(clock),
      api_(kubectl({}), options_.name_space, options_.time_limit, clock) {}

std::vector<std::string> KubernetesPlace::kubectl(const std::vector<std::string>& words) const {
  std::vector<std::string> argv = {"kubectl"};
  if (!options_.context.empty()) argv.push_back(str_cat("--context=", options_.context));
  if (!options_.name_space.empty()) argv.push_back(str_cat("--namespace=", options_.name_space));
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

Result<Objects> KubernetesPlace::objects_of(const std::string& name,
                                            const std::vector<ObjectKind>& kinds) {
  return api_.list(kinds, {.labels = selector_of(name)});
}

Status KubernetesPlace::find_secrets(const JobSpec& job) {
  Objects secrets;
  for (const std::string& name : cluster_secrets_of(job)) {
    Result<std::optional<Json>> secret = api_.find(kSecrets, name);
    // Without the right to see them: a pod that does not find its own says so.
    if (secret.status().code() == Code::permission_denied) return {};
    MR_TRY(secret.status());
    if (*secret) secrets.push_back(std::move(**secret));
  }
  return check_cluster_secrets(job, secrets);
}

Status KubernetesPlace::submit(const JobSpec& job) {
  KubernetesDraw draw{.token = new_secret(random_),
                      .run = in_hexadecimal(random_.next()),
                      .admission = to_text(Admission{.since = now()})};
  MR_ASSIGN(draw.secrets, read_secrets(job));
  std::optional<Shipment> shipment;
  if (has_task_folders(job)) {
    MR_TRY(check_pod_files(job));
    MR_ASSIGN(shipment, options_.ship(job));
    MR_ASSIGN(draw.files, pod_files(*shipment));
  }
  MR_ASSIGN(const Objects manifests, kubernetes_manifests(job, draw));
  MR_TRY(find_secrets(job).with(str_cat("submitting '", job.name, "'")));
  const Result<Json> head = is_gang(job) ? create_held_back(manifests) : create(manifests);
  // Without a cluster or a login nothing can have been made.
  if (head.status().code() == Code::failed_precondition ||
      head.status().code() == Code::unauthenticated)
    return head.status().with(str_cat("submitting '", job.name, "'"));
  Status made = head.status();
  if (made.ok() && draw.files.by_depot) made = fill_depot(job.name, *shipment);
  if (made.ok() && is_gang(job)) made = begin(*head);
  if (made.ok()) return {};
  // Whatever came into being of this submission, and nothing of a job that has the name already.
  const std::string of_this_run = str_cat(kRunLabel, "=", draw.run);
  const Status undone = remove_labelled(of_this_run);
  if (is_of_volcano(job)) remove_pod_groups(of_this_run);
  if (made.code() == Code::already_exists)
    return error(Code::already_exists, "there is a job '", job.name,
                 "' already: choose another name, or remove that with millrace stop ", job.name,
                 " (", made.message(), ")");
  if (undone.ok()) return made.with(str_cat("submitting '", job.name, "'"));
  return made.then(str_cat("; what was made of it could not be removed: ", undone.message(),
                           "; its objects have the label ", kRunLabel, "=", draw.run));
}

Result<Json> KubernetesPlace::create(const Objects& manifests) {
  const Json& first = head_of(manifests);
  std::optional<Json> head;
  Objects rest;
  for (const Json& manifest : manifests) {
    MR_ASSIGN(Json made, api_.create(manifest));
    if (&manifest == &first) {
      head = std::move(made);
    } else {
      rest.push_back(std::move(made));
    }
  }
  const std::string owned = Json{{"metadata", {{"ownerReferences", ownership_of(*head)}}}}.dump();
  for (const Json& object : rest)
    MR_TRY(api_.patch(object, ClusterApi::Patch::merge, owned, Tries::several));
  return std::move(*head);
}

Result<Json> KubernetesPlace::create_held_back(const Objects& manifests) {
  const Json& first = head_of(manifests);
  MR_ASSIGN(Json head, api_.create(first));
  for (const Json& manifest : manifests) {
    if (&manifest == &first) continue;
    Json owned = manifest;
    owned["metadata"]["ownerReferences"] = ownership_of(head);
    MR_TRY(api_.create(owned).status());
  }
  return head;
}

// Of a gang: as soon as there is room.
Status KubernetesPlace::begin(const Json& head) {
  wants_looks_ = "";
  const std::string name = object_text(head, {"metadata", "labels", kInstanceLabel});
  const Status let_in = let_jobs_in(object_text(head, {"metadata", "namespace"}));
  if (let_in.ok() && waits_.contains(name)) wants_looks_ = waits_[name];
  // It is there, and whoever looks next may have more luck.
  if (may_pass(let_in)) wants_looks_ = let_in.message();
  return may_pass(let_in) ? Status() : let_in;
}

Result<JobSight> KubernetesPlace::look(const std::string& name) {
  if (!is_submitted_name(name))
    return not_found("no job is called '", name, "': ", kSubmittedNameRule);
  MR_ASSIGN(const Objects objects, objects_of(name, {kJobs, kPods}));
  heed_gangs(objects);
  MR_ASSIGN(JobSight sight, sight_of(name, objects, {}, now()));
  if (waits_.contains(name)) {
    tell_waiting(sight);
    return sight;
  }
  if (!lacks_pods(sight) || sight.age < seconds(2)) return sight;
  const Result<Objects> events =
      api_.list({kEvents}, {.fields = "involvedObject.kind=Job,reason=FailedCreate"});
  // Without the right to see events the job can be followed all the same.
  if (!events.ok()) return sight;
  return sight_of(name, objects, *events, now());
}

Result<JobSpec> KubernetesPlace::job_of(const std::string& name) {
  MR_TRY(look(name).status());
  MR_ASSIGN(const Objects maps, objects_of(name, {kConfigMaps}));
  const Json* map = cluster_map_in(maps);
  const std::string text = map == nullptr ? "" : object_text(*map, {"data", kJobFileKey});
  if (text.empty())
    return error(Code::unimplemented, "the objects of '", name,
                 "' are of an earlier version, without its job file: stop it, and submit the file "
                 "again");
  Result<JobSpec> job = parse_job_file(text, str_cat(cluster_map_of(name), "/", kJobFileKey));
  if (job.ok()) job->name = name;
  return job;
}

Result<std::vector<JobSight>> KubernetesPlace::list() {
  MR_ASSIGN(const Objects objects,
            api_.list({kJobs, kPods}, {.labels = str_cat(kManagedByLabel, "=millrace")}));
  heed_gangs(objects);
  return sights_of(objects, now());
}

// Of a cluster that does not know such objects there are none.
void KubernetesPlace::remove_pod_groups(const std::string& selector) {
  const Result<Objects> groups = api_.list({kPodGroups}, {.labels = selector});
  if (!groups.ok()) return;
  for (const Json& group : *groups) (void)api_.remove(group, ClusterApi::Removal::as_usual);
}

Status KubernetesPlace::remove_labelled(const std::string& selector) {
  // What a job consists of, beside Volcano's PodGroup, which goes with the head.
  const std::vector<ObjectKind> kinds = {kJobs, kPods, kServices, kConfigMaps, kSecrets};
  // Until all are gone, and pods that a Job has made while it went.
  for (const Clock::Time deadline = clock_.now() + kToBeGone;; pause(kBetweenLooks)) {
    MR_ASSIGN(const Objects left, api_.list(kinds, {.labels = selector}));
    if (left.empty()) return {};
    for (const Json& object : left) {
      // Whose machine does not answer: nobody would say that it is gone.
      if (object_text(object, {"kind"}) == "Pod" && is_lost_with_its_machine(object)) {
        MR_TRY(api_.remove(object, ClusterApi::Removal::by_force));
      } else if (object_text(object, {"metadata", "deletionTimestamp"}).empty()) {
        MR_TRY(api_.remove(object, ClusterApi::Removal::as_usual));
      }
    }
    if (clock_.now() >= deadline)
      return error(Code::deadline_exceeded, left.size(), " objects are still there, ",
                   left[0]["kind"].dump(), " ", left[0]["metadata"]["name"].dump(), " first");
  }
}

Status KubernetesPlace::remove(const std::string& name) {
  MR_TRY(look(name).status());
  MR_TRY(save_outputs(name));
  return remove_labelled(selector_of(name)).with(str_cat("removing '", name, "'"));
}

Status KubernetesPlace::end_rest(const std::string& name) {
  MR_ASSIGN(const JobSight sight, look(name));
  // An index whose pod is removed is not tried again, unless its role is.
  MR_TRY(end_restarts(name));
  for (const TaskSight& task : sight.tasks)
    if (task.stage != TaskStage::ended && !task.handle.empty())
      MR_TRY(api_.remove(kPods, task.handle, ClusterApi::Removal::as_usual));
  return {};
}

// A deadline ends a Job at once, with pods that are still to come.
Status KubernetesPlace::end_restarts(const std::string& name) {
  MR_ASSIGN(const Objects jobs, objects_of(name, {kJobs}));
  for (const Json& job : jobs) {
    if (object_number(job, {"spec", "backoffLimitPerIndex"}) == 0 || has_finished(job)) continue;
    const Json patch = {{"metadata", {{"annotations", {{kRestEndedAnnotation, "true"}}}}},
                        {"spec", {{"activeDeadlineSeconds", 1}}}};
    MR_TRY(api_.patch(job, ClusterApi::Patch::merge, patch.dump(), Tries::several));
  }
  return {};
}

Result<AttemptOutput> KubernetesPlace::output_of(const TaskSight& task, Follow follow) {
  MR_ASSIGN(const ApiAddress output, api_.output_of(task.handle, "task", follow == Follow::yes));
  return AttemptOutput{.command = {options_.program, "pod-output", "--socket", output.socket,
                                   "--path", output.path}};
}

Result<GuestCommand> KubernetesPlace::guest_of(const std::string&, const TaskSight& task,
                                               const std::vector<std::string>& command,
                                               Terminal terminal) {
  std::vector<std::string> words = {"exec", task.handle, "--container=task", "--stdin"};
  if (terminal == Terminal::yes) words.push_back("--tty");
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  return GuestCommand{.words = kubectl(words)};
}

Result<PortWay> KubernetesPlace::way_to(const std::string&, const TaskSight& task, int port,
                                        int local) {
  return PortWay{.command = kubectl({"port-forward", str_cat("pod/", task.handle),
                                     str_cat(local, ":", port), "--address=127.0.0.1"})};
}

}  // namespace millrace

#include "millrace/launch/kubernetes/kubernetes_place.h"

#include <algorithm>
#include <sstream>

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
#include "millrace/launch/local_command.h"
#include "millrace/launch/local_secrets.h"
#include "millrace/launch/shared_secret.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Objects = std::vector<Json>;
using std::chrono::seconds;

// How long the tasks' grace and the cluster's own work may take until all is gone.
constexpr seconds kToBeGone{120};
// Where Volcano is installed: gone when the head is, which owns it.
constexpr const char* kPodGroups = "podgroups.scheduling.volcano.sh";
// All else that a job may consist of.
constexpr const char* kKinds = "jobs.batch,pods,services,configmaps,secrets";

std::string in_hexadecimal(uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(number >> shift) & 15];
  return text;
}

std::string as_list(const Objects& objects) {
  return Json{{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

// kubectl writes lists, or one object after the other.
Result<Objects> items_of(const std::string& answer) {
  Objects objects;
  std::istringstream stream(answer);
  while (stream >> std::ws && !stream.eof()) {
    // Each ends with a line of its own.
    std::string text;
    std::string line;
    while (std::getline(stream, line)) {
      str_append(&text, line, "\n");
      if (line == "}") break;
    }
    Json json = Json::parse(text, nullptr, false);
    if (!json.is_object())
      return unavailable("the cluster does not answer: kubectl wrote no objects");
    if (!json.contains("items")) {
      objects.push_back(std::move(json));
    } else if (json["items"].is_array()) {
      for (Json& item : json["items"]) objects.push_back(std::move(item));
    }
  }
  return objects;
}

// Which objects have it go when the head goes.
Json ownership_of(const Json& head) {
  return Json::array({{{"apiVersion", "batch/v1"},
                       {"kind", "Job"},
                       {"name", head["metadata"]["name"]},
                       {"uid", head["metadata"]["uid"]}}});
}

// What is to be changed of objects that have been made without.
Objects owned_by(const Json& head, const Objects& made) {
  Objects changes;
  for (const Json& object : made) {
    if (object["metadata"]["uid"] == head["metadata"]["uid"]) continue;
    changes.push_back({{"apiVersion", object["apiVersion"]},
                       {"kind", object["kind"]},
                       {"metadata",
                        {{"name", object["metadata"]["name"]},
                         {"namespace", object["metadata"]["namespace"]},
                         {"ownerReferences", ownership_of(head)}}}});
  }
  return changes;
}

}  // namespace

std::string KubernetesPlace::selector_of(const std::string& name) {
  return str_cat(kManagedByLabel, "=millrace,", kInstanceLabel, "=", name);
}

std::vector<std::string> KubernetesPlace::kubectl(const std::vector<std::string>& words) const {
  std::vector<std::string> argv = {"kubectl"};
  if (!options_.context.empty()) argv.push_back(str_cat("--context=", options_.context));
  if (!options_.name_space.empty()) argv.push_back(str_cat("--namespace=", options_.name_space));
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

Result<std::string> KubernetesPlace::ask(const std::vector<std::string>& words,
                                         const std::string& input, Tries tries) {
  return ask_again(tries, [&]() -> Result<std::string> {
    Result<CommandOutput> answer = run_command(kubectl(words), input, options_.time_limit, clock_);
    if (!answer.ok() && answer.status().code() == Code::not_found)
      return failed_precondition(answer.status().message(),
                                 "; jobs go to Kubernetes by kubectl: install it");
    if (!answer.ok()) return answer.status();
    if (answer->code != 0) return kubectl_fault(answer->err);
    return std::move(answer->out);
  });
}

Result<Objects> KubernetesPlace::items(const std::vector<std::string>& words) {
  std::vector<std::string> all = words;
  all.insert(all.end(), {"--output=json", "--request-timeout=15s"});
  MR_ASSIGN(const std::string answer, ask(all, "", Tries::several));
  return items_of(answer);
}

Status KubernetesPlace::find_secrets(const JobSpec& job) {
  const std::vector<std::string> names = cluster_secrets_of(job);
  if (names.empty()) return {};
  std::vector<std::string> words = {"get", "secrets", "--ignore-not-found"};
  words.insert(words.end(), names.begin(), names.end());
  const Result<Objects> secrets = items(words);
  // Without the right to see them: a pod that does not find its own says so.
  if (secrets.status().code() == Code::permission_denied) return {};
  if (!secrets.ok()) return secrets.status();
  return check_cluster_secrets(job, *secrets);
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
  // Of a cluster that does not know such objects there are none.
  if (is_of_volcano(job))
    (void)ask({"delete", kPodGroups, "--selector", of_this_run, "--ignore-not-found"}, "",
              Tries::one);
  if (made.code() == Code::already_exists)
    return error(Code::already_exists, "there is a job '", job.name,
                 "' already: choose another name, or remove that with millrace stop ", job.name,
                 " (", made.message(), ")");
  if (undone.ok()) return made.with(str_cat("submitting '", job.name, "'"));
  return made.then(str_cat("; what was made of it could not be removed: ", undone.message(),
                           "; its objects have the label ", kRunLabel, "=", draw.run));
}

Result<Objects> KubernetesPlace::make(const Objects& manifests) {
  // Once only: of a call that was not answered nobody knows what it has made.
  MR_ASSIGN(const std::string answer,
            ask({"create", "--filename=-", "--output=json"}, as_list(manifests), Tries::one));
  return items_of(answer);
}

Result<Json> KubernetesPlace::create(const Objects& manifests) {
  MR_ASSIGN(const Objects made, make(manifests));
  const std::string head_name = head_of(manifests)["metadata"]["name"];
  const auto head = std::ranges::find_if(made, [&](const Json& object) {
    return object["kind"] == "Job" && object["metadata"]["name"] == head_name;
  });
  if (head == made.end()) return unavailable("the cluster has not made the Job ", head_name);
  MR_TRY(ask({"apply", "--server-side", "--field-manager=millrace-owner", "--filename=-"},
             as_list(owned_by(*head, made)), Tries::several)
             .status());
  return *head;
}

Result<Json> KubernetesPlace::create_held_back(const Objects& manifests) {
  const Json& first = head_of(manifests);
  MR_ASSIGN(const Objects made, make({first}));
  if (made.size() != 1)
    return unavailable("the cluster has not made the Job ", first["metadata"]["name"].dump());
  Objects rest;
  for (const Json& manifest : manifests) {
    if (&manifest == &first) continue;
    rest.push_back(manifest);
    rest.back()["metadata"]["ownerReferences"] = ownership_of(made.front());
  }
  MR_TRY(make(rest).status());
  return made.front();
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
  MR_ASSIGN(const Objects objects,
            items({"get", "jobs.batch,pods", "--selector", selector_of(name)}));
  heed_gangs(objects);
  MR_ASSIGN(JobSight sight, sight_of(name, objects, {}, now()));
  if (waits_.contains(name)) {
    tell_waiting(sight);
    return sight;
  }
  if (!lacks_pods(sight) || sight.age < seconds(2)) return sight;
  const Result<Objects> events =
      items({"get", "events", "--field-selector=involvedObject.kind=Job,reason=FailedCreate"});
  // Without the right to see events the job can be followed all the same.
  if (!events.ok()) return sight;
  return sight_of(name, objects, *events, now());
}

Result<JobSpec> KubernetesPlace::job_of(const std::string& name) {
  MR_TRY(look(name).status());
  MR_ASSIGN(const Objects maps, items({"get", "configmaps", "--selector", selector_of(name)}));
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
            items({"get", "jobs.batch,pods", "--selector", str_cat(kManagedByLabel, "=millrace")}));
  heed_gangs(objects);
  return sights_of(objects, now());
}

Status KubernetesPlace::remove_labelled(const std::string& selector) {
  // Background: the Jobs' own removal need not wait for that of their pods, which are named here.
  MR_TRY(ask({"delete", kKinds, "--selector", selector, "--wait=false", "--ignore-not-found",
              "--cascade=background"},
             "", Tries::several)
             .status());
  // Until all are gone, and pods that a Job has made while it went.
  for (const Clock::Time deadline = clock_.now() + kToBeGone;;) {
    MR_ASSIGN(const Objects left, items({"get", kKinds, "--selector", selector}));
    if (left.empty()) return {};
    MR_TRY(remove_lost(left));
    if (clock_.now() >= deadline)
      return error(Code::deadline_exceeded, left.size(), " objects are still there, ",
                   left[0]["kind"].dump(), " ", left[0]["metadata"]["name"].dump(), " first");
    pause(kBetweenLooks);
  }
}

// Whose machine does not answer: nobody would say that they are gone.
Status KubernetesPlace::remove_lost(const Objects& objects) {
  std::vector<std::string> words = {"delete",           "pods",         "--force",
                                    "--grace-period=0", "--wait=false", "--ignore-not-found"};
  const size_t none = words.size();
  for (const Json& object : objects)
    if (object_text(object, {"kind"}) == "Pod" && is_lost_with_its_machine(object))
      words.push_back(object_text(object, {"metadata", "name"}));
  if (words.size() == none) return {};
  return ask(words, "", Tries::several).status();
}

Status KubernetesPlace::remove(const std::string& name) {
  MR_TRY(look(name).status());
  MR_TRY(save_outputs(name));
  return remove_labelled(selector_of(name)).with(str_cat("removing '", name, "'"));
}

Status KubernetesPlace::end_rest(const std::string& name) {
  MR_ASSIGN(const JobSight sight, look(name));
  std::vector<std::string> words = {"delete", "pods", "--wait=false", "--ignore-not-found"};
  const size_t none = words.size();
  for (const TaskSight& task : sight.tasks)
    if (task.stage != TaskStage::ended && !task.handle.empty()) words.push_back(task.handle);
  if (words.size() == none) return end_restarts(name);
  // An index whose pod is removed is not tried again, unless its role is.
  MR_TRY(end_restarts(name));
  return ask(words, "", Tries::several).status();
}

// A deadline ends a Job at once, with pods that are still to come.
Status KubernetesPlace::end_restarts(const std::string& name) {
  MR_ASSIGN(const Objects jobs, items({"get", "jobs.batch", "--selector", selector_of(name)}));
  for (const Json& job : jobs) {
    if (object_number(job, {"spec", "backoffLimitPerIndex"}) == 0 || has_finished(job)) continue;
    const Json patch = {{"metadata", {{"annotations", {{kRestEndedAnnotation, "true"}}}}},
                        {"spec", {{"activeDeadlineSeconds", 1}}}};
    MR_TRY(ask({"patch", "jobs.batch", object_text(job, {"metadata", "name"}), "--type=merge",
                "--patch", patch.dump()},
               "", Tries::several)
               .status());
  }
  return {};
}

AttemptOutput KubernetesPlace::output_of(const TaskSight& task, Follow follow) {
  std::vector<std::string> words = {"logs", task.handle, "--container=task"};
  if (follow == Follow::yes) words.push_back("--follow");
  return {.command = kubectl(words)};
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

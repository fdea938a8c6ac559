#include "millrace/launch/kubernetes/sight.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

#include "millrace/launch/error_lines.h"
#include "millrace/launch/farewell.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/supervision.h"
#include "millrace/launch/task_records.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Objects = std::vector<Json>;

constexpr size_t kMostWhy = 400;
constexpr int64_t kMostIndexes = 100'000;

// --- reading objects, whatever is in them ---

const Json& get(const Json& json, std::initializer_list<const char*> path) {
  static const Json kNothing;
  const Json* at = &json;
  for (const char* key : path) {
    const auto it = at->find(key);
    if (!at->is_object() || it == at->end()) return kNothing;
    at = &*it;
  }
  return *at;
}

std::string text(const Json& json, std::initializer_list<const char*> path) {
  const Json& found = get(json, path);
  return found.is_string() ? found.get<std::string>() : "";
}

int64_t number(const Json& json, std::initializer_list<const char*> path) {
  const Json& found = get(json, path);
  return found.is_number_integer() ? found.get<int64_t>() : 0;
}

int64_t number_of(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const Json* condition_of(const Json& object, const char* type) {
  for (const Json& condition : get(object, {"status", "conditions"}))
    if (text(condition, {"type"}) == type && text(condition, {"status"}) == "True")
      return &condition;
  return nullptr;
}

// The words of the cluster, on one line and not too long.
std::string shortened(std::string words) {
  std::ranges::replace(words, '\n', ' ');
  if (words.size() > kMostWhy) words = words.substr(0, kMostWhy) + "...";
  return words;
}

bool is_job(const Json& object) { return text(object, {"kind"}) == "Job"; }

std::string annotation(const Json& object, const char* name) {
  return text(object, {"metadata", "annotations", name});
}

// --- pods ---

enum class PodStage { pending, running, ended };

struct Pod {
  std::string name;
  std::string node;
  std::string created;
  PodStage stage = PodStage::pending;
  std::string waits_for = {};
  bool is_stuck = false;
  ExitFacts facts = {};
  bool was_stopped = false;  // it says itself that it was asked to end
  int64_t started = 0;
  int64_t ended = 0;
};

struct Waiting {
  std::string why;
  bool is_stuck;
};

Waiting waiting_of(const Json& container, const std::string& image) {
  const std::string reason = text(container, {"state", "waiting", "reason"});
  const std::string message = shortened(text(container, {"state", "waiting", "message"}));
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
  for (const Json& condition : get(pod, {"status", "conditions"}))
    if (text(condition, {"type"}) == "PodScheduled" && text(condition, {"status"}) == "False") {
      const std::string message = shortened(text(condition, {"message"}));
      if (text(condition, {"reason"}) == "SchedulingGated")
        return {"it is held back until its queue has room", false};
      return {str_cat("no machine for it: ", message), false};
    }
  for (const Json& status : get(pod, {"status", "containerStatuses"})) {
    if (get(status, {"state", "waiting"}).is_null()) continue;
    std::string image;
    for (const Json& container : get(pod, {"spec", "containers"}))
      image = text(container, {"image"});
    return waiting_of(status, image);
  }
  return {"its container is being made", false};
}

// Kubernetes has taken the pod away: its words.
std::string taken_away(const Json& pod) {
  const std::string reason = text(pod, {"status", "reason"});
  const std::string message = shortened(text(pod, {"status", "message"}));
  if (reason == "Evicted") return str_cat("evicted: ", message);
  if (reason == "NodeLost" || reason == "NodeShutdown" || reason == "Terminated")
    return str_cat("its machine is lost or goes down: ", message);
  const Json* disruption = condition_of(pod, "DisruptionTarget");
  if (disruption == nullptr) return "";
  const std::string why = text(*disruption, {"reason"});
  const std::string words = shortened(text(*disruption, {"message"}));
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
  pod.started = seconds_of(text(end, {"startedAt"}));
  pod.ended = seconds_of(text(end, {"finishedAt"}));
  const std::string reason = text(end, {"reason"});
  const std::string message = text(end, {"message"});
  if (reason == "StartError" || reason == "ContainerCannotRun") {
    pod.facts.start_error = shortened(message);
    return;
  }
  pod.facts.code = static_cast<int>(number(end, {"exitCode"}));
  if (reason == "OOMKilled") {
    pod.facts.out_of_memory_kill = true;
    // The program may have been killed, or have ended of its own when a part of it was.
    if (pod.facts.code == 0) pod.facts.out_of_memory_kill = false;
  }
  read_last_message(message, pod);
}

Pod seen_pod(const Json& object) {
  Pod pod{.name = text(object, {"metadata", "name"}),
          .node = text(object, {"spec", "nodeName"}),
          .created = text(object, {"metadata", "creationTimestamp"})};
  const std::string phase = text(object, {"status", "phase"});
  for (const Json& status : get(object, {"status", "containerStatuses"})) {
    const Json& state = get(status, {"state"});
    if (state.contains("terminated")) read_end(state["terminated"], pod);
    if (state.contains("running")) {
      pod.stage = PodStage::running;
      pod.started = seconds_of(text(state, {"running", "startedAt"}));
    }
  }
  if (phase == "Failed" && pod.stage != PodStage::ended) {
    pod.stage = PodStage::ended;
    pod.started = pod.ended = seconds_of(pod.created);
    pod.facts.code = 1;
  }
  if (pod.stage == PodStage::ended) pod.facts.taken_away = taken_away(object);
  if (pod.stage == PodStage::pending) {
    Waiting waiting = pending_of(object);
    pod.waits_for = std::move(waiting.why);
    pod.is_stuck = waiting.is_stuck;
  }
  return pod;
}

// --- roles ---

struct Role {
  std::string job;   // the Job's name
  std::string name;  // as the job file has it
  int64_t order = 0;
  int64_t count = 0;
  bool decides = true;
  bool is_suspended = false;
  const Json* end = nullptr;                 // the condition that it is complete or has failed
  std::vector<std::vector<Pod>> pods = {};   // by index, oldest first
  std::vector<bool> completed_indexes = {};  // that Kubernetes has counted
};

// "0-2,5"
void read_indexes(const std::string& text, std::vector<bool>& indexes) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    const size_t dash = part.find('-');
    const int64_t first = number_of(part);
    const int64_t last = dash == std::string::npos ? first : number_of(part.substr(dash + 1));
    for (int64_t i = std::max<int64_t>(first, 0);
         i <= last && i < static_cast<int64_t>(indexes.size()); ++i)
      indexes[static_cast<size_t>(i)] = true;
    at = end + 1;
  }
}

Role role_of(const Json& job) {
  Role role{.job = text(job, {"metadata", "name"}), .name = annotation(job, kRoleAnnotation)};
  if (role.name.empty()) role.name = role.job;
  role.order = number_of(annotation(job, kOrderAnnotation));
  role.count = std::clamp<int64_t>(number(job, {"spec", "completions"}), 0, kMostIndexes);
  role.decides = annotation(job, kDecidesAnnotation) != "false";
  role.is_suspended = get(job, {"spec", "suspend"}) == true;
  role.end = condition_of(job, "Complete");
  if (role.end == nullptr) role.end = condition_of(job, "Failed");
  role.pods.resize(static_cast<size_t>(role.count));
  role.completed_indexes.resize(static_cast<size_t>(role.count));
  read_indexes(text(job, {"status", "completedIndexes"}), role.completed_indexes);
  return role;
}

void add_pod(const Json& object, std::vector<Role>& roles) {
  const auto role =
      std::ranges::find(roles, text(object, {"metadata", "labels", "job-name"}), &Role::job);
  const std::string index = annotation(object, "batch.kubernetes.io/job-completion-index");
  if (role == roles.end() || index.empty()) return;
  const int64_t place = number_of(index);
  if (place < 0 || place >= role->count) return;
  role->pods[static_cast<size_t>(place)].push_back(seen_pod(object));
}

std::vector<Role> roles_of(const Objects& objects) {
  std::vector<Role> roles;
  for (const Json& object : objects)
    if (is_job(object)) roles.push_back(role_of(object));
  std::ranges::stable_sort(roles, {}, &Role::order);
  for (const Json& object : objects)
    if (text(object, {"kind"}) == "Pod") add_pod(object, roles);
  for (Role& role : roles)
    for (std::vector<Pod>& pods : role.pods)
      std::ranges::stable_sort(pods, {}, [](const Pod& pod) { return pod.created; });
  return roles;
}

// --- the job ---

// Starts and ends in the order in which they were, but ends that others asked for come last: they
// follow from one of the others, whatever the clocks of their machines say.
struct Happened {
  int64_t time;
  int kind;  // 0 start, 1 end, 2 end that was asked for
  size_t task;
  ExitFacts facts = {};
};

Clock::Time time_at(int64_t second) { return Clock::Time(seconds(second)); }

class Look {
 public:
  Look(std::string name, const Objects& objects, const Objects& events, int64_t now)
      : roles_(roles_of(objects)), events_(events), now_(now) {
    sight_.name = std::move(name);
    submitted_ = now;
    for (const Json& object : objects) {
      if (!is_job(object)) continue;
      submitted_ =
          std::min(submitted_, seconds_of(text(object, {"metadata", "creationTimestamp"})));
      sight_.grace = milliseconds(number_of(annotation(object, kGraceAnnotation)));
      // The second is there first: while the pods are being ended.
      for (const char* type : {"Failed", "FailureTarget"})
        if (const Json* failed = condition_of(object, type);
            failed != nullptr && text(*failed, {"reason"}) == "DeadlineExceeded")
          time_limit_ = number(object, {"spec", "activeDeadlineSeconds"});
    }
  }

  JobSight see() {
    for (const Role& role : roles_)
      for (int64_t index = 0; index < role.count; ++index) add_task(role, index);
    std::ranges::stable_sort(happened_, {}, [](const Happened& it) {
      return std::tuple(it.kind == 2, it.time, it.kind);
    });
    judge();
    sight_.age = seconds(std::max<int64_t>(0, now_ - submitted_));
    return std::move(sight_);
  }

 private:
  void add_task(const Role& role, int64_t index) {
    const size_t number = sight_.tasks.size();
    const std::vector<Pod>& pods = role.pods[static_cast<size_t>(index)];
    TaskSight task{.name = str_cat(role.name, ":", index)};
    supervised_.push_back({task.name, role.decides});
    for (size_t i = 0; i + 1 < pods.size(); ++i) {
      sight_.earlier.push_back({.name = task.name,
                                .stage = TaskStage::ended,
                                .where = pods[i].node,
                                .handle = pods[i].name,
                                .attempt = static_cast<int>(i) + 1});
    }
    if (pods.empty()) {
      add_without_pod(role, index, number, task);
    } else {
      add_with_pod(pods.back(), number, task);
      task.attempt = static_cast<int>(pods.size());
    }
    sight_.tasks.push_back(std::move(task));
  }

  void add_with_pod(const Pod& pod, size_t number, TaskSight& task) {
    task.where = pod.node;
    task.handle = pod.name;
    if (pod.stage == PodStage::pending) {
      task.text = pod.waits_for;
      task.is_stuck = pod.is_stuck;
      active_ = true;
      return;
    }
    task.stage = pod.stage == PodStage::running ? TaskStage::running : TaskStage::ended;
    happened_.push_back({pod.started, 0, number});
    if (pod.stage == PodStage::running) {
      active_ = true;
    } else {
      happened_.push_back({pod.ended, pod.was_stopped ? 2 : 1, number, pod.facts});
    }
  }

  // Its pod is not made yet, or has been removed.
  void add_without_pod(const Role& role, int64_t index, size_t number, TaskSight& task) {
    if (role.is_suspended && role.end == nullptr) {
      task.text = "it is held back until its queue has room";
      return;
    }
    if (role.end == nullptr && !role.completed_indexes[static_cast<size_t>(index)]) {
      task.text = why_no_pod(role);
      task.is_stuck = !task.text.empty();
      if (task.text.empty()) task.text = "its pod is being made";
      active_ = true;
      return;
    }
    const int64_t when =
        role.end == nullptr ? now_ : seconds_of(text(*role.end, {"lastTransitionTime"}));
    task.stage = TaskStage::ended;
    happened_.push_back({submitted_, 0, number});
    ExitFacts facts{.code = 0};
    if (!role.completed_indexes[static_cast<size_t>(index)])
      facts = {.code = 128 + 15, .taken_away = "its pod was removed"};
    happened_.push_back({when, 1, number, std::move(facts)});
  }

  std::string why_no_pod(const Role& role) const {
    std::string why;
    for (const Json& event : events_) {
      if (text(event, {"involvedObject", "name"}) != role.job ||
          text(event, {"reason"}) != "FailedCreate")
        continue;
      why = shortened(text(event, {"message"}));
    }
    if (why.empty()) return why;
    const bool is_quota = why.find("exceeded quota") != std::string::npos;
    return str_cat(is_quota ? "the namespace's quota is too small: " : "its pod can't be made: ",
                   why);
  }

  void judge() {
    std::optional<Clock::Duration> limit;
    if (time_limit_ > 0) limit = seconds(time_limit_);
    // Kubernetes starts tasks again and ends them, not we: no rules, nothing is drawn, and a
    // failure has ended the job when it is seen.
    SeededRandom no_pauses(1);
    Supervision supervision(
        supervised_, {},
        {.grace = sight_.grace, .time_limit = limit, .cause_within = Clock::Duration::zero()},
        time_at(submitted_), no_pauses);
    int64_t last = submitted_;
    for (size_t i = 0; i < happened_.size();) {
      if (limit && (happened_[i].kind == 2 || happened_[i].time >= submitted_ + time_limit_))
        supervision.on(TimePassed{}, time_at(submitted_ + time_limit_));
      // Clocks of machines differ: what follows is not before its cause.
      last = std::max(last, happened_[i].time);
      i = tell(supervision, i, time_at(last));
    }
    if (limit) supervision.on(TimePassed{}, time_at(submitted_ + time_limit_));
    sight_.report = supervision.report();
    if (!supervision.finished()) sight_.report.time = seconds(last - submitted_);
    for (size_t i = 0; i < sight_.tasks.size(); ++i)
      if (sight_.tasks[i].stage == TaskStage::ended)
        sight_.tasks[i].text = sight_.report.tasks[i].text;
    sight_.stage = stage(supervision);
  }

  // Ends of one moment are told together. Returns how many have been told.
  size_t tell(Supervision& supervision, size_t first, Clock::Time when) {
    const Happened& it = happened_[first];
    if (it.kind == 0) {
      supervision.on(TaskStarted{it.task}, when);
      return first + 1;
    }
    TasksEnded ends;
    size_t next = first;
    for (; next < happened_.size() && happened_[next].time == it.time &&
           happened_[next].kind == it.kind;
         ++next)
      ends.ends.push_back({.task = happened_[next].task, .facts = happened_[next].facts});
    supervision.on(ends, when);
    return next;
  }

  JobStage stage(const Supervision& supervision) const {
    if (supervision.stopping() || supervision.finished())
      return active_ ? JobStage::ending : JobStage::ended;
    const bool waits = std::ranges::any_of(
        sight_.tasks, [](const TaskSight& task) { return task.stage == TaskStage::pending; });
    return waits ? JobStage::pending : JobStage::running;
  }

  std::vector<Role> roles_;
  const Objects& events_;
  const int64_t now_;
  int64_t submitted_ = 0;
  int64_t time_limit_ = 0;  // seconds, if it was reached
  bool active_ = false;     // pods are there that have not ended, or will be
  std::vector<SupervisedTask> supervised_;
  std::vector<Happened> happened_;
  JobSight sight_;
};

}  // namespace

Result<JobSight> sight_of(const std::string& name, const Objects& objects, const Objects& events,
                          int64_t now) {
  if (std::ranges::none_of(objects, is_job))
    return not_found("there is no job '", name, "'; millrace list shows those that there are");
  return Look(name, objects, events, now).see();
}

std::vector<JobSight> sights_of(const Objects& objects, int64_t now) {
  std::map<std::string, Objects> by_name;
  for (const Json& object : objects)
    by_name[text(object, {"metadata", "labels", kInstanceLabel})].push_back(object);
  std::vector<JobSight> sights;
  for (const auto& [name, own] : by_name)
    if (std::ranges::any_of(own, is_job)) sights.push_back(Look(name, own, {}, now).see());
  return sights;
}

bool lacks_pods(const JobSight& sight) {
  return std::ranges::any_of(sight.tasks, [](const TaskSight& task) {
    return task.stage == TaskStage::pending && task.handle.empty();
  });
}

int64_t seconds_of(const std::string& time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  if (std::sscanf(time.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d", &year, &month, &day, &hour, &minute,
                  &second) != 6)
    return 0;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return 0;
  const std::chrono::sys_days days(date);
  return int64_t{days.time_since_epoch().count()} * 86'400 + int64_t{hour} * 3600 +
         int64_t{minute} * 60 + second;
}

}  // namespace millrace

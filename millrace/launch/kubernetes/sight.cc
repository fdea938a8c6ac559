#include "millrace/launch/kubernetes/sight.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "millrace/launch/kubernetes/gang.h"
#include "millrace/launch/kubernetes/manifests.h"
#include "millrace/launch/kubernetes/object_words.h"
#include "millrace/launch/kubernetes/seen_role.h"
#include "millrace/launch/supervision.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Objects = std::vector<Json>;

constexpr size_t kMostEarlier = 5;  // attempts of a task that the report tells of

// What happened, in the order in which it did, but ends that others asked for come last: they
// follow from one of the others, whatever the clocks of their machines say.
struct Happened {
  enum class Kind { start, scaling, end, asked_end };
  int64_t time;
  Kind kind;
  size_t which;  // the task; of a scaling, the role
  ExitFacts facts = {};
  int count = 0;  // that the role is to have
};

Clock::Time time_at(int64_t second) { return Clock::Time(seconds(second)); }

class Look {
 public:
  Look(std::string name, const Objects& objects, const Objects& events, int64_t now)
      : roles_(seen_roles(objects)), events_(events), now_(now) {
    sight_.name = std::move(name);
    submitted_ = now;
    for (const Json& object : objects) {
      if (!is_job(object)) continue;
      submitted_ =
          std::min(submitted_, seconds_of(object_text(object, {"metadata", "creationTimestamp"})));
      is_gang_ = is_gang_ || !annotation_of(object, kAdmissionAnnotation).empty();
      sight_.grace = milliseconds(number_of(annotation_of(object, kGraceAnnotation)));
      if (!annotation_of(object, kRestEndedAnnotation).empty()) continue;
      // The second is there first: while the pods are being ended.
      for (const char* type : {"Failed", "FailureTarget"})
        if (const Json* failed = condition_of(object, type);
            failed != nullptr && object_text(*failed, {"reason"}) == "DeadlineExceeded")
          time_limit_ = object_number(object, {"spec", "activeDeadlineSeconds"});
    }
  }

  JobSight see() {
    for (size_t i = 0; i < roles_.size(); ++i) {
      for (const RoleSize& size : std::span(roles_[i].sizes).subspan(1))
        happened_.push_back(
            {.time = size.since, .kind = Happened::Kind::scaling, .which = i, .count = size.count});
      for (int64_t index = 0; index < roles_[i].count; ++index) add_task(i, index);
    }
    std::ranges::stable_sort(happened_, {}, [](const Happened& it) {
      return std::tuple(it.kind == Happened::Kind::asked_end, it.time, it.kind);
    });
    judge();
    sight_.age = seconds(std::max<int64_t>(0, now_ - submitted_));
    return std::move(sight_);
  }

 private:
  void add_task(size_t role_number, int64_t position) {
    const SeenRole& role = roles_[role_number];
    const auto index = static_cast<size_t>(position);
    const std::vector<Pod>& pods = role.pods[index];
    TaskSight task{.name = str_cat(role.name, ":", index)};
    supervised_.push_back({.name = task.name,
                           .decides = role.decides,
                           .role = role_number,
                           .is_absent = position >= role.sizes[0].count});
    earlier_.emplace_back();
    lived_.emplace_back();
    const bool comes_again = !pods.empty() && is_followed(role, index, pods.back());
    const size_t past = pods.empty() || comes_again ? pods.size() : pods.size() - 1;
    // Pods that were taken away are gone with what they wrote; their failures are counted.
    int attempt = 0;
    for (size_t i = 0; i < past; ++i) {
      attempt = attempt_of(pods[i], attempt);
      add_earlier(pods[i], attempt, task.name);
      if (pods[i].was_scaled_down) --num_restarts_;
    }
    task.attempt = past < pods.size() ? attempt_of(pods.back(), attempt) : attempt + 1;
    num_restarts_ += task.attempt - 1;
    if (past < pods.size()) {
      add_with_pod(pods.back(), task);
    } else if (role.is_wanted(index)) {
      add_without_pod(role, index, task);
      if (comes_again && !pods.back().was_scaled_down)
        task.text = str_cat("starts again after: ", earlier_.back().back().text);
    }
    sight_.tasks.push_back(std::move(task));
  }

  static int attempt_of(const Pod& pod, int before) {
    return std::max(before + 1,
                    static_cast<int>(std::min<int64_t>(pod.failures, kMostRestarts)) + 1);
  }

  // Another pod will take its place.
  static bool is_followed(const SeenRole& role, size_t index, const Pod& pod) {
    if (pod.stage != PodStage::ended || role.end != nullptr) return false;
    if (pod.was_scaled_down) return role.is_wanted(index);
    return !role.has_ended_for_good(index, pod);
  }

  void add_earlier(const Pod& pod, int attempt, const std::string& name) {
    sight_.earlier.push_back({.name = name,
                              .stage = TaskStage::ended,
                              .where = pod.node,
                              .handle = pod.name,
                              .attempt = attempt});
    const SentSignal sent = pod.was_stopped ? SentSignal::terminate : SentSignal::none;
    std::string text = classify(pod.facts, sent).text;
    if (pod.was_scaled_down) text = "scaled down";
    if (text.empty()) text = "asked to end";
    earlier_.back().push_back({.number = attempt,
                               .text = std::move(text),
                               .time = seconds(std::max<int64_t>(0, pod.ended - pod.started))});
  }

  void add_with_pod(const Pod& pod, TaskSight& task) {
    task.where = pod.node;
    task.handle = pod.name;
    task.ports = pod.ports;
    if (pod.stage == PodStage::pending) {
      task.text = pod.waits_for;
      task.is_stuck = pod.is_stuck;
      active_ = true;
      return;
    }
    task.stage = pod.stage == PodStage::running ? TaskStage::running : TaskStage::ended;
    add(Happened::Kind::start, pod.started);
    if (pod.stage == PodStage::running) {
      active_ = true;
    } else {
      add(pod.was_stopped ? Happened::Kind::asked_end : Happened::Kind::end, pod.ended, pod.facts);
      lived_.back() = seconds(std::max<int64_t>(0, pod.ended - pod.started));
    }
  }

  // Of the task that is being added.
  void add(Happened::Kind kind, int64_t time, ExitFacts facts = {}) {
    happened_.push_back({time, kind, sight_.tasks.size(), std::move(facts)});
  }

  // Its pod is not made yet, or has been removed.
  void add_without_pod(const SeenRole& role, size_t index, TaskSight& task) {
    if (role.is_suspended && role.end == nullptr) {
      task.text = is_gang_ ? "there is to be room for all of its job"
                           : "it is held back until its queue has room";
      return;
    }
    if (role.end == nullptr && !role.completed_indexes[index] && !role.failed_indexes[index]) {
      task.text = why_no_pod(role);
      task.is_stuck = !task.text.empty();
      if (task.text.empty()) task.text = "its pod is being made";
      active_ = true;
      return;
    }
    const int64_t when =
        role.end == nullptr ? now_ : seconds_of(object_text(*role.end, {"lastTransitionTime"}));
    task.stage = TaskStage::ended;
    add(Happened::Kind::start, submitted_);
    ExitFacts facts{.code = 0};
    if (!role.completed_indexes[index])
      facts = {.code = 128 + 15, .taken_away = "its pod was removed"};
    add(Happened::Kind::end, when, std::move(facts));
  }

  std::string why_no_pod(const SeenRole& role) const {
    std::string why;
    for (const Json& event : events_) {
      if (object_text(event, {"involvedObject", "name"}) != role.job ||
          object_text(event, {"reason"}) != "FailedCreate")
        continue;
      why = shortened(object_text(event, {"message"}));
    }
    if (why.empty()) return why;
    const bool is_quota = why.find("exceeded quota") != std::string::npos;
    return str_cat(is_quota ? "the namespace's quota is too small: " : "its pod can't be made: ",
                   why);
  }

  void judge() {
    std::optional<Clock::Duration> limit;
    if (time_limit_ > 0) limit = seconds(time_limit_);
    // Kubernetes starts tasks again and ends them, not we: nothing is restarted, nothing is drawn,
    // and a failure has ended the job when it is seen.
    std::vector<RoleRules> rules;
    for (const SeenRole& role : roles_) rules.push_back({.may_lose = role.may_lose});
    SeededRandom no_pauses(1);
    Supervision supervision(
        supervised_, std::move(rules),
        {.grace = sight_.grace, .time_limit = limit, .cause_within = Clock::Duration::zero()},
        time_at(submitted_), no_pauses);
    int64_t last = submitted_;
    bool is_scaled = false;
    for (size_t i = 0; i < happened_.size();) {
      const bool is_asked = happened_[i].kind == Happened::Kind::asked_end;
      if (limit && (is_asked || happened_[i].time >= submitted_ + time_limit_))
        supervision.on(TimePassed{}, time_at(submitted_ + time_limit_));
      // Clocks of machines differ: what follows is not before its cause.
      last = std::max(last, happened_[i].time);
      if (is_asked && !std::exchange(is_scaled, true)) scale_again(supervision, time_at(last));
      i = tell(supervision, i, time_at(last));
    }
    if (limit) supervision.on(TimePassed{}, time_at(submitted_ + time_limit_));
    sight_.report = supervision.report();
    if (!supervision.finished()) sight_.report.time = seconds(last - submitted_);
    for (size_t i = 0; i < sight_.tasks.size(); ++i) describe(supervision.is_absent(i), i);
    sight_.report.num_restarts = num_restarts_;
    sight_.stage = stage(supervision);
  }

  // By clocks that differ a task may have been taken away before it came.
  void scale_again(Supervision& supervision, Clock::Time when) const {
    for (size_t i = 0; i < roles_.size(); ++i)
      if (roles_[i].sizes.size() > 1)
        supervision.on(RoleScaled{.role = i, .count = roles_[i].sizes.back().count, .by = ""},
                       when);
  }

  void describe(bool is_absent, size_t number) {
    TaskSight& task = sight_.tasks[number];
    TaskSummary& summary = sight_.report.tasks[number];
    if (is_absent) task.stage = TaskStage::absent;
    if (task.stage == TaskStage::ended || task.stage == TaskStage::absent) task.text = summary.text;
    summary.attempt = task.attempt;
    // By one machine's clock; what it was told by is in order only.
    if (lived_[number]) summary.time = lived_[number];
    std::vector<EarlierAttempt>& earlier = earlier_[number];
    const size_t left_out = earlier.size() - std::min(earlier.size(), kMostEarlier);
    summary.earlier.assign(earlier.begin() + static_cast<std::ptrdiff_t>(left_out), earlier.end());
  }

  // Ends of one moment are told together. Returns how many have been told.
  size_t tell(Supervision& supervision, size_t first, Clock::Time when) {
    const Happened& it = happened_[first];
    if (it.kind == Happened::Kind::start) {
      supervision.on(TaskStarted{it.which}, when);
      return first + 1;
    }
    if (it.kind == Happened::Kind::scaling) {
      supervision.on(RoleScaled{.role = it.which, .count = it.count, .by = ""}, when);
      return first + 1;
    }
    TasksEnded ends;
    size_t next = first;
    for (; next < happened_.size() && happened_[next].time == it.time &&
           happened_[next].kind == it.kind;
         ++next)
      ends.ends.push_back({.task = happened_[next].which, .facts = happened_[next].facts});
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

  std::vector<SeenRole> roles_;
  const Objects& events_;
  const int64_t now_;
  int64_t submitted_ = 0;
  bool is_gang_ = false;    // its tasks are to come to run together
  int64_t time_limit_ = 0;  // seconds, if it was reached
  bool active_ = false;     // pods are there that have not ended, or will be
  std::vector<SupervisedTask> supervised_;
  std::vector<Happened> happened_;
  std::vector<std::vector<EarlierAttempt>> earlier_;  // of each task
  std::vector<std::optional<milliseconds>> lived_;    // its last attempt
  int num_restarts_ = 0;
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
    by_name[object_text(object, {"metadata", "labels", kInstanceLabel})].push_back(object);
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

}  // namespace millrace

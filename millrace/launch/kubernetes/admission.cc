#include "millrace/launch/kubernetes/admission.h"

#include <algorithm>
#include <cmath>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int64_t kFirstPause = 15;  // doubled each time
constexpr int64_t kLongestPause = 600;

int64_t pause_after(int given_way, double draw) {
  const int64_t pause = std::min(kLongestPause, kFirstPause << std::min(given_way - 1, 10));
  return pause + std::llround(static_cast<double>(pause) / 2 * std::clamp(draw, 0.0, 1.0));
}

class Planner {
 public:
  Planner(const ClusterRoom& room, int64_t now, double draw)
      : gangs_(room.gangs), room_(room), machines_(room.machines), now_(now), draw_(draw) {}

  AdmissionPlan plan() {
    finish_what_was_begun();
    // The younger first: when it has given way, nobody has to give way to it.
    for (size_t i = gangs_.size(); i-- > 0;)
      if (is_ours(gangs_[i]) && gives_way(i)) let_go(i);
    if (machines_)
      for (const Gang& gang : gangs_)
        if (gang.is_assembling()) put_on(*machines_, gang.lacking);
    for (size_t i = 0; i < gangs_.size(); ++i)
      if (is_ours(gangs_[i]) && gangs_[i].admission.stage == AdmissionStage::waiting) look_at(i);
    return std::move(plan_);
  }

 private:
  bool is_ours(const Gang& gang) const { return gang.name_space == room_.name_space; }
  bool is_due(const Gang& gang) const {
    return is_ours(gang) && gang.admission.stage == AdmissionStage::waiting &&
           now_ >= gang.admission.not_before;
  }

  // Whoever changed it was cut off after the annotation.
  void finish_what_was_begun() {
    for (size_t i = 0; i < gangs_.size(); ++i) {
      const bool waits = gangs_[i].admission.stage == AdmissionStage::waiting;
      const bool differs =
          std::ranges::any_of(gangs_[i].jobs, [&](const auto& job) { return job.second != waits; });
      if (is_ours(gangs_[i]) && differs) plan_.steps.push_back({i, gangs_[i].admission});
    }
  }

  void change(size_t number, Admission next) {
    gangs_[number].admission = next;
    std::erase_if(plan_.steps, [&](const AdmissionStep& step) { return step.gang == number; });
    plan_.steps.push_back({number, next});
  }

  // --- who holds a part ---

  bool gives_way(size_t number) const {
    const Gang& gang = gangs_[number];
    if (!gang.is_assembling() || gang.bound == 0 || now_ < gang.admission.since + kHoldSeconds)
      return false;
    // Others may hold the rest whom we can't see.
    if (!machines_) return true;
    for (size_t i = 0; i < gangs_.size(); ++i) {
      const bool is_older = i < number;
      if (i == number) continue;
      // The older needs maybe what several hold, so it is not asked whether this one's helps.
      if (is_older && gangs_[i].is_assembling()) return true;
      const bool wants = gangs_[i].is_assembling() || is_due(gangs_[i]);
      const bool counts = is_older || gang.admission.stage == AdmissionStage::tried;
      if (wants && counts && fits_without(gangs_[i], gang)) return true;
    }
    return false;
  }

  bool fits_without(const Gang& wanted, const Gang& holder) const {
    std::vector<Machine> machines = *machines_;
    for (const auto& [name, asks] : holder.held) {
      const auto machine = std::ranges::find(machines, name, &Machine::name);
      if (machine == machines.end()) continue;
      for (const auto& [resource, amount] : asks) machine->free[resource] += amount;
    }
    return put_on(machines, wanted.lacking) == wanted.count - wanted.bound;
  }

  void let_go(size_t number) {
    const int given_way = gangs_[number].admission.given_way + 1;
    change(number, {.stage = AdmissionStage::waiting,
                    .since = now_,
                    .not_before = now_ + pause_after(given_way, draw_),
                    .given_way = given_way});
  }

  // --- who waits ---

  void let_in(size_t number, AdmissionStage stage) {
    change(number,
           {.stage = stage, .since = now_, .given_way = gangs_[number].admission.given_way});
    // As if its pods were there: none has a machine yet.
    gangs_[number].bound = 0;
    gangs_[number].has_begun = false;
  }

  void look_at(size_t number) {
    const Gang& gang = gangs_[number];
    std::string& why = plan_.waits[gang.name];
    if (now_ < gang.admission.not_before) {
      why = str_cat("it has let go of its machines, for others to go on, and tries again after ",
                    gang.admission.not_before - gang.admission.since, " s");
      return;
    }
    const auto other = std::ranges::find_if(gangs_, &Gang::is_assembling);
    if (!machines_) {
      if (other == gangs_.end()) return try_it(number);
      why = str_cat("job '", other->name, "' is to have all of its machines first");
      return;
    }
    std::vector<Machine> machines = *machines_;
    const int64_t fit = put_on(machines, gang.wishes);
    if (fit == gang.count) {
      machines_ = std::move(machines);
      plan_.waits.erase(gang.name);
      return let_in(number, AdmissionStage::admitted);
    }
    const bool has_time =
        now_ < std::max(gang.admission.since, gang.admission.not_before) + kTrySeconds;
    // Nobody's end would make room for it: the cluster has to grow.
    const bool is_hopeless = !fits_when_empty(gang);
    if (other == gangs_.end() && (is_hopeless || !has_time)) return try_it(number);
    why = str_cat("no room for all of it: ", fit, " of ", gang.count, " tasks fit",
                  is_hopeless ? ", and not all would if nothing else ran" : "");
  }

  void try_it(size_t number) {
    plan_.waits.erase(gangs_[number].name);
    let_in(number, AdmissionStage::tried);
  }

  bool fits_when_empty(const Gang& gang) const {
    std::vector<Machine> machines = emptied(*room_.machines);
    return put_on(machines, gang.wishes) == gang.count;
  }

  std::vector<Gang> gangs_;
  const ClusterRoom& room_;
  std::optional<std::vector<Machine>> machines_;  // with the room that is still to be had
  const int64_t now_;
  const double draw_;
  AdmissionPlan plan_;
};

}  // namespace

AdmissionPlan plan_admission(const ClusterRoom& room, int64_t now, double draw) {
  return Planner(room, now, draw).plan();
}

}  // namespace millrace

#include "tests/simulation/collective_fuzz.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/simulation/faults.h"
#include "tests/simulation/fleet.h"
#include "tests/simulation/meetings.h"
#include "tests/simulation/oracle.h"
#include "tests/simulation/replica.h"
#include "tests/simulation/wait_for.h"

namespace millrace::simulation {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool says(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string::npos;
}

class CollectiveFuzz {
 public:
  CollectiveFuzz(const OpRegistry& ops, const FuzzOptions& options)
      : options_(options),
        fleet_(ops, {.seed = options.seed,
                     .order = Order::drawn,
                     .delays = {std::chrono::microseconds(100), milliseconds(20)},
                     .tell = options.tell}),
        world_(fleet_.world()),
        members_(options.tasks > 0 ? static_cast<size_t>(options.tasks)
                                   : world_.draw(world_.chance(0.8) ? 3 : 8) + 2),
        meetings_(members_),
        shared_{
            .fleet = fleet_,
            .ops = ops,
            .meetings = meetings_,
            .plan = plan_,
            .complain = [this](const std::string& what) { complain(what); },
            .explain = [this](Clock::Time since, bool has_limit,
                              const Status& status) { return explain(since, has_limit, status); }} {
    fleet_.add_job("worker", static_cast<int>(members_));
    draw_plan();
    std::vector<std::string> clients;
    for (size_t member = 0; member < members_; ++member) {
      const std::string& site = fleet_.sites()[member];
      oracle_.know(site, {});
      fleet_.start(site);
      clients.push_back(str_cat("client", member));
      oracle_.know(clients.back(), {});
    }
    for (size_t member = 0; member < members_; ++member)
      replicas_.push_back(std::make_unique<Replica>(shared_, member));
    struck_ = fleet_.sites();
    struck_.insert(struck_.end(), clients.begin(), clients.end());
    faults_.emplace(fleet_, oracle_, std::move(clients), shared_.complain);
  }

  FuzzOutcome run() {
    if (options_.faults == FuzzOptions::Faults::all) faults_->begin();
    for (const auto& replica : replicas_) replica->begin();
    const Clock::Time end =
        world_.now() + milliseconds(static_cast<int64_t>(options_.seconds * 1000));
    while (world_.now() < end && is_fine()) {
      go_on(seconds(10));
      for (const auto& replica : replicas_) replica->check_waiting();
    }
    if (is_fine()) come_together();
    if (is_fine()) wind_up();
    outcome_.tasks = static_cast<int>(members_);
    outcome_.calls = shared_.calls;
    outcome_.failed = shared_.failed;
    outcome_.events = world_.num_steps();
    outcome_.seconds = std::chrono::duration<double>(world_.elapsed()).count();
    for (const auto& [site, traffic] : fleet_.network().traffic())
      outcome_.messages += traffic.messages_sent;
    // What goes with the fuzz itself is no part of it.
    shared_.is_over = is_over_ = true;
    if (fleet_.stage() != nullptr) fleet_.stage()->mute();
    return outcome_;
  }

 private:
  void draw_plan() {
    while (plan_.kinds.empty()) {
      for (const auto& [kind, name] : Meetings::kKinds)
        if (world_.chance(0.4)) plan_.kinds.push_back(kind);
    }
    plan_.source = world_.draw(members_);
    // Large ones go in parts, in several lanes.
    plan_.width = world_.chance(0.05) ? 40'000 / static_cast<int64_t>(members_)
                                      : static_cast<int64_t>(world_.draw(3)) + 1;
    if (world_.chance(0.3)) plan_.timeout_seconds = static_cast<int64_t>(world_.draw(30)) + 1;
  }

  bool is_fine() const { return outcome_.complaints.empty(); }
  void complain(const std::string& what) {
    if (is_over_) return;
    if (fleet_.stage() != nullptr) fleet_.stage()->say(str_cat("?? ", what));
    outcome_.complaints.push_back(what);
  }
  void go_on(Clock::Duration length) { world_.run_until(world_.now() + length); }

  // What happens to one member is an error of all, of whom each may be told as late as the slowest
  // keepalive finds it out.
  std::string explain(Clock::Time since, bool has_limit, const Status& error) const {
    constexpr seconds kAfter{20};
    const Clock::Time from = since - Network::kClientKeepalive - kAfter;
    const auto wrong = [&](std::string_view why) { return str_cat(why, ": ", error.to_string()); };
    const bool was_struck = std::ranges::any_of(
        struck_, [&](const auto& site) { return oracle_.was_struck(site, from); });
    const bool has_cause = was_struck || shared_.last_given_up >= from;
    if (error.code() == Code::deadline_exceeded) {
      const bool is_told = says(error, "Timed out waiting for") ||
                           says(error, "before the deadline") ||
                           says(error, "Collective has timed out");
      if (!is_told) return wrong("it does not say what was waited for");
      const bool had_limit = has_limit || plan_.timeout_seconds > 0;
      return had_limit || has_cause ? "" : wrong("no time was set");
    }
    const bool is_of_members = error.code() == Code::aborted || error.code() == Code::unavailable ||
                               error.code() == Code::cancelled;
    if (!is_of_members) return wrong("no error of this kind can come of what happened");
    if (!has_cause) return wrong("nothing happened to anybody");
    const bool names_somebody = std::ranges::any_of(fleet_.sites(), [&](const auto& site) {
      return says(error, fleet_.full_name(site)) || says(error, fleet_.address(site));
    });
    // A master that began a new life knows nothing of the one before.
    if (!names_somebody && !says(error, "is not found")) return wrong("it names nobody");
    return {};
  }

  // All is healed: whatever the members were at, they meet again, and go on meeting.
  void come_together() {
    faults_->end();
    go_on(seconds(800));
    // Within the time that a collective has, which may be a second, all must come.
    shared_.is_prompt = true;
    go_on(seconds(30));
    std::vector<uint64_t> before;
    for (size_t member = 0; member < members_; ++member)
      before.push_back(meetings_.times_met(member));
    go_on(seconds(20));
    for (size_t member = 0; member < members_; ++member) {
      if (meetings_.times_met(member) < before[member] + 5)
        complain(str_cat("member ", member, " met the others only ",
                         meetings_.times_met(member) - before[member],
                         " times in the last 20 s, although nothing happened in the last 800"));
    }
  }

  void wind_up() {
    shared_.is_over = true;
    for (const auto& replica : replicas_) replica->wind_up();
    go_on(seconds(400));
    for (size_t member = 0; member < members_; ++member)
      if (replicas_[member]->is_waiting())
        complain(str_cat("client", member, " still waits for an answer"));
    // Sessions whose clients were never told of them.
    for (const std::string& site : fleet_.sites()) {
      SimClient tidier(fleet_, str_cat("tidier of ", site), site);
      const Status reset = wait_for<void>(
          world_, [&](Done<void> done) { tidier.master().reset({}, {}, std::move(done)); });
      if (!reset.ok()) complain(str_cat("tidying ", site, ": ", reset.to_string()));
    }
    go_on(seconds(30));
    for (const std::string& site : fleet_.sites()) check_leftovers(site);
    // Told to go, as servers are, they have nothing at all.
    for (const std::string& site : fleet_.sites()) {
      const std::string left =
          fleet_.stop(site, unavailable(fleet_.full_name(site), " was stopped"));
      if (!left.empty()) complain(str_cat(site, " ended with something left over: ", left));
    }
  }

  // As long as a group is formed each member has a question at its leader: what ends the group. It
  // is all that may be left.
  void check_leftovers(const std::string& site) {
    SimTask& task = *fleet_.task(site);
    const auto worker = task.worker().counts();
    const auto master = task.master().counts();
    const size_t others = members_ - 1;
    const bool is_tidy = master.sessions + master.under_way + worker.sessions + worker.graphs +
                             worker.steps + worker.partial_steps ==
                         0;
    const bool is_leader = site == fleet_.sites().front();
    if (!is_tidy || worker.under_way > (is_leader ? others : 0))
      complain(str_cat(site, " still has ", task.leftovers()));
  }

  const FuzzOptions options_;
  Fleet fleet_;
  World& world_;
  const size_t members_;
  Oracle oracle_;
  Meetings meetings_;
  Replica::Plan plan_;
  FuzzOutcome outcome_;
  bool is_over_ = false;
  Replica::Shared shared_;
  std::vector<std::string> struck_;  // sites and clients, to whom something may happen
  std::optional<Faults> faults_;
  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace

FuzzOutcome fuzz_collectives(const OpRegistry& ops, const FuzzOptions& options) {
  return CollectiveFuzz(ops, options).run();
}

}  // namespace millrace::simulation

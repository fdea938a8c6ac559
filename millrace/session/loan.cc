#include "millrace/session/loan.h"

#include <charconv>
#include <utility>

#include "absl/container/flat_hash_set.h"

#include "millrace/api/build_state.h"
#include "millrace/base/str_cat.h"
#include "millrace/master/prepared_step.h"
#include "millrace/op/once_factory.h"

namespace millrace {
namespace {

// {node, output} of "node:1" and of "node".
std::pair<std::string_view, int> parted_name(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {name, 0};
  int index = -1;  // of what is no number
  std::from_chars(name.data() + colon + 1, name.data() + name.size(), index);
  return {name.substr(0, colon), index};
}

// Whether a step needs an op that updates state, or may need one: a function, a node that the graph
// does not have.
bool may_update(const Graph& graph, const StepRequestNames& names) {
  absl::flat_hash_set<Endpoint> fed;
  for (const std::string& feed : names.feeds) {
    const auto [name, index] = parted_name(feed);
    if (const Node* node = graph.find(name)) fed.insert({node->id, index});
  }
  absl::flat_hash_set<NodeId> seen;
  std::vector<NodeId> to_visit;
  const auto reach = [&](NodeId node) {
    if (seen.insert(node).second) to_visit.push_back(node);
  };
  for (const std::vector<std::string>* wanted : {&names.fetches, &names.targets}) {
    for (const std::string& each : *wanted) {
      const auto [name, index] = parted_name(each);
      const Node* const node = graph.find(name);
      if (node == nullptr) return true;
      if (wanted == &names.targets || !fed.contains(Endpoint{node->id, index})) reach(node->id);
    }
  }
  while (!to_visit.empty()) {
    const Node& node = graph[to_visit.back()];
    to_visit.pop_back();
    if (is_made_once(*node.op) || calls_functions(node.op->role)) return true;
    for (const Endpoint& input : node.inputs)
      if (!fed.contains(input)) reach(input.node);
    for (const NodeId before : node.control_inputs) reach(before);
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Loan>> Loan::take(Session& session, const LeasedDequeue& taken,
                                         RunArgs args) {
  if (!taken.given_back.has_value())
    return failed_precondition("no element can be taken: building the graph failed before that");
  std::vector<std::string> fetches = {taken.lease.name(), taken.attempt.name()};
  for (const Output& component : taken.components) fetches.push_back(component.name());
  MR_ASSIGN(std::vector<Tensor> values, session.run({}, std::move(fetches), std::move(args)));
  const std::string lease = values[0].item<std::string>();
  const int attempt = values[1].item<int32_t>();
  values.erase(values.begin(), values.begin() + 2);
  std::unique_ptr<Loan> loan(new Loan(session, taken, std::move(values), attempt, lease));
  MutexLock lock(loan->mutex_);
  // Numbers of steps begin behind the one that took.
  MR_ASSIGN(const OnceBook::Step take, loan->steps_.begin(OnceBook::Kind::takes, 0));
  MR_TRY(loan->steps_.end(take, {}, lease).status());
  loan->set_heartbeat();
  return loan;
}

Loan::Loan(Session& session, LeasedDequeue taken, std::vector<Tensor> element, int attempt,
           std::string lease)
    : session_(session),
      taken_(std::move(taken)),
      element_(std::move(element)),
      attempt_(attempt),
      lease_(std::move(lease)),
      host_(session.runtime()->host()) {}

Loan::~Loan() {
  if (Status status = give_back(); !status.ok()) {
    // Nobody to tell, and nothing to do: it comes back with time, or has with the session.
  }
  stop_heartbeats();
}

bool Loan::is_held() const {
  MutexLock lock(mutex_);
  return state_ == State::held || state_ == State::ending;
}

Status Loan::lost_error() const {
  return failed_precondition("the lease of what '", taken_.lease.op().name(), "' took (attempt ",
                             attempt_, ") is lost: no heartbeat came through for ",
                             taken_.lasts.count(), " ms, and the element went to another taker");
}

Result<std::vector<Tensor>> Loan::run(Session::Feeds feeds, std::vector<std::string> fetches,
                                      RunArgs args) {
  StepRequestNames names{{}, fetches, args.targets};
  for (const NamedTensor& feed : feeds) names.feeds.push_back(feed.name);
  const bool is_named = may_update(taken_.fed.op().state()->builder->graph(), names);
  OnceBook::Step step;
  {
    MutexLock lock(mutex_);
    if (state_ == State::lost) return lost_error();
    if (state_ != State::held)
      return failed_precondition("the element was acknowledged or given back; take another one");
    if (is_named) {
      MR_ASSIGN(step, steps_.begin(OnceBook::Kind::updates, hash_of(names)));
    }
  }
  if (!is_named) return session_.run(std::move(feeds), std::move(fetches), std::move(args));
  feeds.push_back({taken_.fed.name(), Tensor::scalar(step.lease)});
  args.targets.push_back(taken_.under.name());
  auto values = session_.run(std::move(feeds), std::move(fetches), std::move(args));
  MutexLock lock(mutex_);
  MR_TRY(steps_.end(step, values.status(), {}).status());
  return values;
}

Status Loan::acknowledge() {
  {
    MutexLock lock(mutex_);
    if (state_ == State::lost) return lost_error();
  }
  return end_by(taken_.ended);
}

Status Loan::give_back() { return end_by(taken_.given_back); }

Status Loan::end_by(const Operation& operation) {
  {
    MutexLock lock(mutex_);
    // Another thread is at it, for as long as a lease lasts at most.
    while (state_ == State::ending) changed_.wait(mutex_);
    if (state_ != State::held) return {};
    // What a heartbeat finds meanwhile says nothing.
    state_ = State::ending;
  }
  Status ended = session_
                     .run({{taken_.fed.name(), Tensor::scalar(lease_)}}, {},
                          {.targets = {operation.name()}, .timeout = taken_.lasts})
                     .status();
  MutexLock lock(mutex_);
  state_ = ended.ok() ? State::ended : State::held;
  changed_.notify_all();
  return ended;
}

// ---- Heartbeats --------------------------------------------------------------------------------

void Loan::set_heartbeat() {
  if (is_over_) return;
  // The callback takes none of our locks, so that the timer can be replaced under one.
  timer_ = host_.timers.at(host_.clock.now() + taken_.lasts / 3, [this] {
    host_.blocking.post([this, token = beats_.enter()] { beat(); });
  });
}

void Loan::beat() {
  const Result<std::vector<Tensor>> held =
      session_.run({{taken_.fed.name(), Tensor::scalar(lease_)}}, {taken_.held.name()},
                   {.timeout = taken_.lasts, .cancellation = &ending_});
  MutexLock lock(mutex_);
  if (state_ == State::ended) return;
  if (held.ok() && !held->front().item<bool>()) {
    if (state_ == State::held) state_ = State::lost;
    return;
  }
  // One that failed says nothing of the lease, and the next one may be in time; but a session that
  // is closed has given the element back.
  if (held.status().code() == Code::failed_precondition) return;
  set_heartbeat();
}

void Loan::stop_heartbeats() {
  Timers::Timer timer;
  {
    MutexLock lock(mutex_);
    is_over_ = true;
    std::swap(timer, timer_);
  }
  timer.cancel();
  ending_.cancel(cancelled("the loan has ended"));
  beats_.wait();
}

}  // namespace millrace

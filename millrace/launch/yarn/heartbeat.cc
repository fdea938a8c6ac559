#include "millrace/launch/yarn/heartbeat.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/host_port.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr seconds kBetweenAsks{1};  // as YARN expects it of its own
constexpr milliseconds kBetweenEagerAsks{250};
constexpr seconds kBetweenConnections{1};
constexpr seconds kMostOfAnswer{60};
constexpr minutes kMostSilence{10};  // by then YARN has given us up
constexpr seconds kMostFarewell{60};

std::string random_bytes(Random& random, size_t size) {
  std::string bytes;
  while (bytes.size() < size) bytes += static_cast<char>(random.next() & 0xFF);
  return bytes;
}

}  // namespace

HadoopLogin login_with(const std::string& protocol, HadoopToken token, Random& random) {
  constexpr size_t kClientIdSize = 16;
  return {.protocol = protocol,
          .token = std::move(token),
          .client_id = random_bytes(random, kClientIdSize),
          .nonce = str_cat(random.next(), random.next())};
}

std::optional<pollfd> Heartbeat::event() const {
  if (!link_ || !fault_.ok()) return {};
  return link_->event();
}

Clock::Time Heartbeat::wake_at(const ApplicationMaster& master) const {
  if (!fault_.ok() || has_finished()) return Clock::Time::max();
  if (!link_) return not_before_;
  if (asked_) return answer_due_;
  const bool is_asking = stage_ == Stage::asking && !master.is_eager();
  return answered_at_ + (is_asking ? Clock::Duration(kBetweenAsks) : kBetweenEagerAsks);
}

std::vector<MasterAction> Heartbeat::turn(ApplicationMaster& master) {
  std::vector<MasterAction> actions;
  if (!fault_.ok() || has_finished()) return actions;
  const Clock::Time now = options_.clock.now();
  if (is_finishing_ && now >= farewell_due_) {
    fault_ = error(Code::deadline_exceeded, "YARN's ResourceManager has not noted the end in ",
                   kMostFarewell.count(), " s");
    return actions;
  }
  if (!link_) {
    if (now < not_before_) return actions;
    if (const Status begun = connect(); !begun.ok()) return lose(begun), actions;
  }
  Result<std::vector<HadoopConnection::Answer>> answers = link_->turn();
  if (!answers.ok()) return break_off(answers.status()), actions;
  for (const HadoopConnection::Answer& answer : *answers) {
    if (answer.call != asked_) continue;
    asked_.reset();
    answered_at_ = now;
    std::vector<MasterAction> more = take(answer.body, master);
    std::move(more.begin(), more.end(), std::back_inserter(actions));
  }
  if (asked_ && now >= answer_due_) lose(unavailable("no answer in ", kMostOfAnswer.count(), " s"));
  if (link_ && !asked_ && now >= wake_at(master) && !has_finished()) call(master);
  return actions;
}

Status Heartbeat::connect() {
  const std::string& scheduler = options_.schedulers[scheduler_];
  MR_ASSIGN(const HostPort address, HostPort::parse(scheduler));
  MR_ASSIGN(HadoopLink link,
            HadoopLink::connect(
                address.host, address.port,
                login_with(kMasterProtocol, new_token_.value_or(options_.token), options_.random)));
  link_.emplace(std::move(link));
  answered_at_ = {};
  return {};
}

void Heartbeat::call(ApplicationMaster& master) {
  answer_due_ = options_.clock.now() + kMostOfAnswer;
  asked_in_ = stage_;
  switch (stage_) {
    case Stage::registering:
      asked_ =
          link_->call("registerApplicationMaster", register_request(options_.host, options_.port));
      break;
    case Stage::asking:
      asked_ = link_->call("allocate", allocate_request(master.next_request()));
      break;
    case Stage::finishing:
      asked_ = link_->call("finishApplicationMaster", finish_request(final_status_, final_words_));
      break;
    case Stage::over:
      break;
  }
}

std::vector<MasterAction> Heartbeat::take(const Result<std::string>& answer,
                                          ApplicationMaster& master) {
  if (!answer.ok()) return take_fault(answer.status(), master);
  silent_since_.reset();
  if (asked_in_ == Stage::registering) return enter(master);
  if (asked_in_ == Stage::asking) return take_allocation(*answer, master);
  const Result<bool> is_noted = parse_finish_answer(*answer);
  if (is_noted.ok() && *is_noted) stage_ = Stage::over;
  return {};
}

std::vector<MasterAction> Heartbeat::enter(ApplicationMaster& master) {
  stage_ = is_finishing_ ? Stage::finishing : Stage::asking;
  answered_at_ = {};  // there is something to ask
  if (!std::exchange(was_registered_, true)) return {};
  return master.on(RegisteredAgain{});
}

std::vector<MasterAction> Heartbeat::take_allocation(std::string_view body,
                                                     ApplicationMaster& master) {
  Result<AllocateAnswer> answer = parse_allocate_answer(body);
  if (!answer.ok()) return take_fault(answer.status(), master);
  if (answer->is_shutdown) {
    fault_ = error(Code::aborted, "YARN has given up this attempt");
    return {};
  }
  if (answer->is_resync) return take_fault(error(Code::aborted, "begun anew"), master);
  if (answer->master_token) new_token_ = answer->master_token;
  for (auto& [node, token] : answer->node_tokens) {
    const auto known =
        std::ranges::find(node_tokens_, node, [](const auto& it) { return it.first; });
    if (known != node_tokens_.end()) {
      known->second = std::move(token);
    } else {
      node_tokens_.emplace_back(node, std::move(token));
    }
  }
  return master.on(Answered{std::move(*answer)});
}

std::vector<MasterAction> Heartbeat::take_fault(const Status& fault, ApplicationMaster& master) {
  switch (fault.code()) {
    case Code::aborted:
      stage_ = Stage::registering;
      answered_at_ = {};
      return {};
    case Code::already_exists:
      if (stage_ == Stage::registering) return enter(master);
      [[fallthrough]];
    case Code::invalid_argument:
      // Of who is not registered, nothing was asked that could be refused: it tries again.
      if (asked_in_ != Stage::asking) return lose(fault), std::vector<MasterAction>();
      return master.on(AsksRefused{fault});
    case Code::not_found:
    case Code::unauthenticated:
    case Code::permission_denied:
    case Code::failed_precondition:
      fault_ = fault.with("YARN's ResourceManager");
      return {};
    default:
      lose(fault);
      return {};
  }
}

void Heartbeat::break_off(const Status& fault) {
  switch (fault.code()) {
    case Code::unauthenticated:
    case Code::permission_denied:
    case Code::failed_precondition:
      fault_ = fault.with("YARN's ResourceManager");
      return;
    default:
      lose(fault);
  }
}

void Heartbeat::lose(const Status& why) {
  const Clock::Time now = options_.clock.now();
  link_.reset();
  asked_.reset();
  scheduler_ = (scheduler_ + 1) % options_.schedulers.size();
  not_before_ = now + kBetweenConnections;
  if (!silent_since_) silent_since_ = now;
  if (now - *silent_since_ >= kMostSilence)
    fault_ = why.with("YARN's ResourceManager does not answer");
}

std::optional<HadoopToken> Heartbeat::token_of(const NodeAddress& node) const {
  const auto known = std::ranges::find(node_tokens_, node, [](const auto& it) { return it.first; });
  if (known == node_tokens_.end()) return {};
  return known->second;
}

void Heartbeat::finish(FinalStatus status, std::string words) {
  is_finishing_ = true;
  final_status_ = status;
  final_words_ = std::move(words);
  farewell_due_ = options_.clock.now() + kMostFarewell;
  answered_at_ = {};
  silent_since_.reset();
  if (stage_ == Stage::asking) stage_ = Stage::finishing;
}

}  // namespace millrace

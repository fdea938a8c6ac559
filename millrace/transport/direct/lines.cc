#include "millrace/transport/direct/lines.h"

#include <utility>

#include "millrace/base/result.h"
#include "millrace/transport/protocol/promises.h"

namespace millrace::transport {
namespace {

// Private lines that wait for the next caller. More callers at once have their own for a call.
constexpr size_t kMostIdle = 64;

// Introductions go where offers come.
bool goes_by_line(const OutgoingRequest& request) { return !is_introduction(request.method); }

}  // namespace

Lines::Lines(const Host& host, const DirectThreads& threads, std::chrono::milliseconds patience)
    : host_(host), patience_(patience), intake_(threads.intake()), shared_(threads.lines()) {}

void Lines::offered(std::string_view peer) {
  const std::optional<NumericAddress> address = NumericAddress::of_peer(peer);
  MutexLock lock(mutex_);
  const bool has_ended = line_ != nullptr && line_->has_ended();
  if (address == offer_ && !has_ended) return;
  offer_ = address;
  idle_.clear();
  line_.reset();
}

void Lines::withdrawn() {
  MutexLock lock(mutex_);
  offer_.reset();
  idle_.clear();
  line_.reset();
}

bool Lines::is_up() {
  const std::shared_ptr<Line> there = line();
  return there != nullptr && there->is_up();
}

// May have to connect yet. Null without an offer.
std::shared_ptr<Line> Lines::line() {
  MutexLock lock(mutex_);
  if (!offer_) return nullptr;
  if (line_ != nullptr && !line_->has_ended()) return line_;
  // The peer may have ended, or serve somebody else's protocol by now: it has to say again that it
  // speaks ours.
  const bool has_ended = line_ != nullptr;
  line_.reset();
  if (!has_ended) line_ = shared_->to(*offer_);
  if (line_ != nullptr) return line_;
  offer_.reset();
  idle_.clear();
  return nullptr;
}

bool Lines::start(OutgoingRequest& request, const Oversight& oversight, Line::Answer& answer) {
  if (!goes_by_line(request)) return false;
  const std::shared_ptr<Line> there = line();
  // Who waits for a peer to come up is best served by one that is up.
  return there != nullptr && there->start(host_, request, oversight, answer);
}

std::unique_ptr<PrivateLine> Lines::take() {
  std::optional<NumericAddress> address;
  {
    MutexLock lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<PrivateLine> last = std::move(idle_.back());
      idle_.pop_back();
      if (last->is_alive()) return last;
    }
    address = offer_;
  }
  if (!address) return nullptr;
  auto made = PrivateLine::connect(*address, patience_, intake_);
  if (made == nullptr) withdrawn();
  return made;
}

void Lines::give_back(std::unique_ptr<PrivateLine> line) {
  if (line->is_useless()) return;
  MutexLock lock(mutex_);
  if (offer_ && idle_.size() < kMostIdle) idle_.push_back(std::move(line));
}

std::optional<Result<ReceivedBytes>> Lines::call_and_wait(OutgoingRequest& request,
                                                          const Oversight& oversight) {
  if (!goes_by_line(request)) return std::nullopt;
  std::unique_ptr<PrivateLine> line = take();
  if (line == nullptr) return std::nullopt;
  Result<ReceivedBytes> answer = line->call(std::move(request), oversight, host_.clock);
  give_back(std::move(line));
  return answer;
}

}  // namespace millrace::transport

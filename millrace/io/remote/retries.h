// Retries: what failed for now is asked again, a bounded number of times, after pauses that grow.
#pragma once

#include <chrono>
#include <functional>

#include "millrace/base/clock.h"
#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/io/remote/http.h"

namespace millrace::remote {

struct RetryTerms {
  int tries = 5;  // all in all
  std::chrono::milliseconds first_pause{100};
  std::chrono::milliseconds longest_pause{5'000};
};

// What may be asked twice without harm, should the first have been done after all.
enum class Repeat : uint8_t {
  always,  // asking for something, and whatever leaves the same behind each time
  unsent,  // else: only if the server can't have seen it
};

struct Answer {
  HttpReply reply;
  int tries = 1;
};

// Whether an answer may be another in a while: no answer at all, 408, 429 and 5xx but 501, 505 and
// 507 (the store is full).
bool is_passing(const HttpReply& reply);

// The pause before try number `next` (2, 3, …): half to all of first_pause, doubled each time, up
// to the longest; or what the server asked for in Retry-After, if that is no longer than it.
std::chrono::milliseconds pause_before(int next, const HttpReply& reply, const RetryTerms& terms,
                                       Random& random);

// Thread-safe. `clock` and `random` outlive it.
class Retries {
 public:
  Retries(const Clock& clock, Random& random, RetryTerms terms)
      : clock_(clock), random_(random), terms_(terms) {}

  // Tries once, and again while that may help. `passes` says what else than is_passing may be
  // another in a while.
  Answer send(const std::function<HttpReply()>& once, Repeat repeat,
              const std::function<bool(const HttpReply&)>& passes = nullptr);
  // Pauses end, and nothing is sent again.
  void stop();

 private:
  bool pause(std::chrono::milliseconds time);

  const Clock& clock_;
  Random& random_;
  const RetryTerms terms_;
  Mutex mutex_;
  Condition stopped_;
  bool is_stopped_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::remote

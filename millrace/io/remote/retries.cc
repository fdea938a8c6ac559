#include "millrace/io/remote/retries.h"

#include <algorithm>

#include "absl/strings/numbers.h"

#include "millrace/base/str_cat.h"

namespace millrace::remote {

bool is_passing(const HttpReply& reply) {
  if (!reply.trouble.ok()) return reply.trouble.code() == Code::unavailable;
  if (reply.status == 501 || reply.status == 505 || reply.status == 507) return false;
  return reply.status >= 500 || reply.status == 408 || reply.status == 429;
}

std::chrono::milliseconds pause_before(int next, const HttpReply& reply, const RetryTerms& terms,
                                       Random& random) {
  int64_t seconds = 0;
  if (absl::SimpleAtoi(to_absl(reply.header("retry-after")), &seconds) && seconds >= 0 &&
      seconds <= terms.longest_pause.count() / 1000)
    return std::chrono::seconds(seconds);
  const int doubled = std::clamp(next - 2, 0, 20);
  const int64_t whole =
      std::min<int64_t>(terms.longest_pause.count(), terms.first_pause.count() << doubled);
  // Those who failed together do not come back together.
  return std::chrono::milliseconds(whole / 2 +
                                   static_cast<int64_t>(random.next() % (whole / 2 + 1)));
}

Answer Retries::send(const std::function<HttpReply()>& once, Repeat repeat,
                     const std::function<bool(const HttpReply&)>& passes) {
  Answer answer{.reply = once()};
  while (answer.tries < terms_.tries) {
    const HttpReply& reply = answer.reply;
    if (!is_passing(reply) && !(reply.trouble.ok() && passes != nullptr && passes(reply))) break;
    if (repeat == Repeat::unsent && reply.was_sent) break;
    if (!pause(pause_before(answer.tries + 1, reply, terms_, random_))) break;
    answer.reply = once();
    ++answer.tries;
  }
  return answer;
}

bool Retries::pause(std::chrono::milliseconds time) {
  const auto until = clock_.now() + time;
  MutexLock lock(mutex_);
  while (!is_stopped_)
    if (!stopped_.wait_until(mutex_, until)) break;
  return !is_stopped_;
}

void Retries::stop() {
  MutexLock lock(mutex_);
  is_stopped_ = true;
  stopped_.notify_all();
}

}  // namespace millrace::remote

#include "millrace/launch/local_tries.h"

#include <poll.h>

#include "millrace/launch/job_place.h"

namespace millrace {

using std::chrono::milliseconds;

void pause(milliseconds time) { poll(nullptr, 0, static_cast<int>(time.count())); }

Result<std::string> ask_again(Tries tries, const std::function<Result<std::string>()>& ask) {
  constexpr int kMostTries = 4;
  milliseconds pause_before_next{300};
  for (int left = tries == Tries::one ? 1 : kMostTries;; --left) {
    Result<std::string> answer = ask();
    if (answer.ok() || left == 1 || !may_pass(answer.status())) return answer;
    pause(pause_before_next);
    pause_before_next *= 2;
  }
}

}  // namespace millrace

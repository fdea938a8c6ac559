#include "millrace/launch/slurm/ask_slurm.h"

#include "millrace/launch/local_command.h"
#include "millrace/launch/slurm/faults.h"

namespace millrace {

Result<std::string> ask_slurm(const std::vector<std::string>& words, Tries tries,
                              Clock::Duration time_limit, const Clock& clock) {
  return ask_again(tries, [&]() -> Result<std::string> {
    Result<CommandOutput> answer = run_command(words, "", time_limit, clock);
    if (!answer.ok() && answer.status().code() == Code::not_found)
      return failed_precondition(answer.status().message(),
                                 "; jobs go to Slurm by its commands: submit where they are "
                                 "installed");
    if (!answer.ok()) return answer.status();
    if (answer->code != 0) return slurm_fault(words[0], answer->err);
    return std::move(answer->out);
  });
}

}  // namespace millrace

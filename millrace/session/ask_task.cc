#include "millrace/session/ask_task.h"

#include "millrace/session/wait_for.h"
#include "millrace/transport/all.h"

namespace millrace {

Result<TaskDescription> ask_task(std::string_view target, const std::shared_ptr<Runtime>& runtime,
                                 Clock::Duration patience) {
  MR_ASSIGN(Transport * transport, runtime->transports().of(target));
  MR_ASSIGN(const auto master, transport->dial(target, runtime->patience()));
  const Clock& clock = runtime->host().clock;
  WaitFor<TaskDescription> wait(clock);
  master->describe(wait.call(nullptr, clock.now() + patience), wait.done());
  Result<TaskDescription> told = wait.get();
  if (told.status().code() == Code::unimplemented)
    return unimplemented("not a Millrace task: ", told.status().message());
  return told;
}

}  // namespace millrace

#include "millrace/bin/serve_paired.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iostream>
#include <utility>

#include "millrace/launch/descriptor.h"
#include "millrace/launch/exit_reason.h"
#include "millrace/op/device_name.h"
#include "millrace/session/paired_server.h"
#include "millrace/session/witness.h"

namespace millrace {

Result<TaskName> task_of_flag(std::string_view flag, const std::string& text) {
  MR_ASSIGN(const DeviceName name, DeviceName::parse(text).with(flag));
  if (name.job && name.task && !name.type) return TaskName{*name.job, 0, *name.task};
  return invalid(flag, " is '", text, "'; name a task, like /job:chief/task:0");
}

bool WitnessFlags::is_witness(const ServerOptions& options) const {
  const auto task = task_of_flag("--witness", witness);
  return stands_by_for.empty() && task.ok() && *task == TaskName{options.job, 0, options.task};
}

Result<std::unique_ptr<WitnessWatch>> watch_witness(const WitnessFlags& flags,
                                                    ServerOptions& options,
                                                    const std::shared_ptr<Runtime>& runtime,
                                                    std::string* witness_address) {
  const TaskName own{options.job, 0, options.task};
  MR_ASSIGN(const TaskName witness, task_of_flag("--witness", flags.witness));
  MR_ASSIGN(*witness_address, options.cluster.address(witness).with("--witness"));
  if (options.state_folder.empty()) options.state_folder = runtime->state_folder();
  if (flags.is_witness(options)) {
    if (options.state_folder.empty())
      return invalid("the witness needs a folder for its record; say --state DIR");
    MR_ASSIGN(options.standby,
              Witness::open(runtime->host(), str_cat(options.state_folder, "/witness")));
  }
  MR_ASSIGN(options.own_address, options.cluster.address(own));
  auto members = LateMembers::of(std::exchange(options.cluster, {}));
  options.members = members;
  return std::make_unique<WitnessWatch>(runtime, *witness_address, std::move(members), own);
}

Result<TakenSignal> serve_paired(const WitnessFlags& flags, ServerOptions options,
                                 const std::string& witness_address,
                                 const std::shared_ptr<Runtime>& runtime,
                                 std::unique_ptr<SignalWatch> signals) {
  const std::string name = short_name({options.job, 0, options.task});
  const Descriptor changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed.is_open())
    return error(Code::resource_exhausted, "can't open a descriptor: ", std::strerror(errno));
  const auto wake = [number = changed.number()] {
    const uint64_t one = 1;
    (void)!::write(number, &one, sizeof one);
  };
  MR_ASSIGN(const auto server,
            PairedServer::start({.server = std::move(options),
                                 .witness_address = witness_address,
                                 .is_first = flags.stands_by_for.empty(),
                                 .silence = std::chrono::milliseconds(flags.silence_ms)},
                                runtime, wake));
  std::optional<PairedServer::State> told;
  while (true) {
    MR_ASSIGN(const PairedServer::State state, server->go_on());
    if (told != state) {
      const bool serves = state == PairedServer::State::serves;
      std::cout << (serves ? "serving " : "standing by for ") << name << " at " << server->address()
                << std::endl;
      told = state;
    }
    std::array<pollfd, 2> events{pollfd{signals->descriptor(), POLLIN, 0},
                                 pollfd{changed.number(), POLLIN, 0}};
    poll(events.data(), events.size(), -1);
    uint64_t times = 0;
    (void)!::read(changed.number(), &times, sizeof times);
    while (std::optional<TakenSignal> signal = signals->take()) {
      if (signal->number == SIGUSR1) {
        if (server->server() != nullptr)
          runtime->host().log.info(to_text(server->server()->describe()));
        continue;
      }
      signals = nullptr;  // a second one kills
      runtime->host().log.named(name).info("is stopped by ", to_text(*signal));
      MR_TRY(server->stop(unavailable(name, " was stopped by ", signal_text(signal->number))));
      std::cout << name << " stopped: " << to_text(*signal) << std::endl;
      return *std::move(signal);
    }
  }
}

}  // namespace millrace

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
#include "millrace/session/paired_server.h"

namespace millrace {

Result<TakenSignal> serve_paired(ServerOptions options, const Witnessed& witnessed,
                                 const std::shared_ptr<Runtime>& runtime,
                                 std::unique_ptr<SignalWatch> signals) {
  const std::string name = short_name({options.job, 0, options.task});
  const std::chrono::milliseconds silence = options.suspect_after;
  const Descriptor changed(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!changed.is_open())
    return error(Code::resource_exhausted, "can't open a descriptor: ", std::strerror(errno));
  const auto wake = [number = changed.number()] {
    const uint64_t one = 1;
    (void)!::write(number, &one, sizeof one);
  };
  MR_ASSIGN(const auto server, PairedServer::start({.server = std::move(options),
                                                    .witness_address = witnessed.address,
                                                    .is_first = witnessed.is_first,
                                                    .silence = silence},
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

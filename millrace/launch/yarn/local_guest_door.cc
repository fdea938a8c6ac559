#include "millrace/launch/yarn/local_guest_door.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/local_guest.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/local_guest_run.h"

namespace millrace {
namespace {

constexpr int kDoorQueue = 16;
constexpr int kMostGuests = 64;
constexpr int kDoorLook = 1000;  // milliseconds
// A task's program may just be about to begin.
constexpr std::chrono::seconds kToBegin{5};
constexpr std::chrono::milliseconds kBetweenGuestLooks{50};

void detach_door() {
  leave_terminal();
  prctl(PR_SET_NAME, "millrace-door");
  // What asks the task to end is not for this one, which ends with it.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) signal(number, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

Result<GuestDoor> GuestDoor::open() {
  Descriptor owner(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!owner.is_open())
    return failed_precondition("this machine can't tell when a task has ended: ",
                               std::strerror(errno));
  MR_ASSIGN(const HeldPort port, HeldPort::bind("0.0.0.0", 0));
  MR_ASSIGN(Descriptor listener, port.listen(kDoorQueue));
  return GuestDoor(std::move(listener), std::move(owner), port.port());
}

Status GuestDoor::leave_behind(const Duty& duty) {
  const pid_t owner = getpid();
  const pid_t between = fork();
  if (between < 0) return error(Code::resource_exhausted, "no process: ", std::strerror(errno));
  if (between == 0) {
    // The door is to be nobody's child whom the program could wait for.
    const pid_t door = fork();
    if (door == 0) keep(duty, owner);
    _exit(door < 0 ? 1 : 0);
  }
  int status = 1;
  while (waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
  listener_.close();
  owner_.close();
  if (status != 0) return error(Code::resource_exhausted, "no process for guests");
  return {};
}

void GuestDoor::keep(const Duty& duty, int owner) {
  detach_door();
  close_all_but({listener_.number(), owner_.number()});
  const auto beside = [&](const std::vector<std::string>& command) {
    const Clock::Time until = duty.clock.now() + kToBegin;
    for (;; pause(kBetweenGuestLooks)) {
      Result<GuestCommand> found = guest_at(owner, duty.task, duty.attempt, command);
      if (found.ok() || duty.clock.now() >= until) return found;
    }
  };
  int guests = 0;
  for (;;) {
    std::array<pollfd, 2> events = {pollfd{owner_.number(), POLLIN, 0},
                                    pollfd{listener_.number(), POLLIN, 0}};
    // With as many as there may be, others wait in the system's queue.
    poll(events.data(), guests < kMostGuests ? events.size() : 1, kDoorLook);
    while (waitpid(-1, nullptr, WNOHANG) > 0) --guests;
    // Those of its guests see it themselves.
    if (events[0].revents != 0) _exit(0);
    if (guests >= kMostGuests || events[1].revents == 0) continue;
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.is_open()) continue;
    const GuestRequest request{.token = duty.token,
                               .task = duty.task,
                               .nonce = new_secret(duty.random),
                               .beside = beside,
                               .owner = owner_.number(),
                               .clock = duty.clock};
    const pid_t pid = fork();
    if (pid == 0) {
      listener_.close();
      serve_guest(std::move(socket), request);
      _exit(0);
    }
    if (pid > 0) ++guests;
  }
}

}  // namespace millrace

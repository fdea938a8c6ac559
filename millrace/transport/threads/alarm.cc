#include "millrace/transport/threads/alarm.h"

#include <sys/timerfd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace millrace::transport {

Status Alarm::open() {
  if (timer_) return {};
  timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (timer_) return {};
  return error(Code::resource_exhausted,
               "can't open a descriptor for an alarm: ", std::strerror(errno),
               "; raise the limit of open files (ulimit -n)");
}

void Alarm::set(std::chrono::nanoseconds pause) const {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(pause);
  itimerspec when{};
  when.it_value.tv_sec = whole.count();
  when.it_value.tv_nsec = (pause - whole).count();
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Alarm::clear() const {
  const itimerspec never{};
  ::timerfd_settime(timer_.get(), 0, &never, nullptr);
}

void Alarm::wait() const {
  uint64_t times = 0;
  while (::read(timer_.get(), &times, sizeof(times)) < 0 && errno == EINTR) {
  }
}

}  // namespace millrace::transport

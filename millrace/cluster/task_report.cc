#include "millrace/cluster/task_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "millrace/cluster/environment.h"

namespace millrace {
namespace {

Result<int> inherited_descriptor(std::string_view text) {
  int number = -1;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Not a standard stream: the settings below are not for those.
  const bool is_number = fault == std::errc() && stop == text.data() + text.size() && number > 2;
  if (!is_number || fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    return invalid(kReportDescriptorVariable, "=", text.substr(0, 80),
                   " is no open descriptor above 2; unset it, or let a launcher set it");
  }
  return number;
}

}  // namespace

Result<std::shared_ptr<TaskReport>> TaskReport::open(const char* descriptor, const char* file) {
  if (descriptor != nullptr && *descriptor != '\0') {
    MR_ASSIGN(const int number, inherited_descriptor(descriptor));
    return std::make_shared<TaskReport>(number);
  }
  if (file == nullptr || *file == '\0') return std::shared_ptr<TaskReport>();
  const int number = ::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (number < 0)
    return not_found(kReportFileVariable, "=", file, ": can't write it: ", strerror(errno));
  return std::make_shared<TaskReport>(number);
}

TaskReport::TaskReport(int descriptor) : descriptor_(descriptor), owner_(getpid()) {
  // A launcher that does not read must not hold the task up.
  fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) | O_NONBLOCK);
  tell(TaskBegan{owner_});
}

TaskReport::~TaskReport() { close(descriptor_); }

void TaskReport::set_task(const TaskName& task) {
  MutexLock lock(mutex_);
  task_ = short_name(task);
}

void TaskReport::tell(const TaskEvent& event) {
  MutexLock lock(mutex_);
  write(event);
}

void TaskReport::tell_end(const TaskEnds& end) {
  MutexLock lock(mutex_);
  if (has_ended_) return;
  has_ended_ = true;
  write(end);
}

void TaskReport::write(const TaskEvent& event) {
  if (getpid() != owner_) return;
  const std::string line = to_line({task_, event});
  // Whole or not at all on a pipe, as it is shorter than PIPE_BUF.
  ssize_t written = -1;
  do {
    written = ::write(descriptor_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace millrace

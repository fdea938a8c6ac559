#include "millrace/launch/local_process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "millrace/cluster/inherited_socket.h"
#include "millrace/launch/local_keeper.h"

extern char** environ;

namespace millrace {
namespace {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Status system_error(std::string_view what, int fault) {
  return error(Code::resource_exhausted, what, ": ", strerror(fault));
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("no pipe for a task", errno);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

void never_block(const Descriptor& descriptor) {
  fcntl(descriptor.number(), F_SETFL, fcntl(descriptor.number(), F_GETFL) | O_NONBLOCK);
}

// "NAME=value" of this process, with the task's own over them.
std::vector<std::string> merged_environment(const std::vector<EnvironmentEntry>& own) {
  std::map<std::string, std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    merged.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // A launcher that is itself a task must not hand its own socket on.
  merged.erase(kListenDescriptorVariable);
  for (const auto& [name, value] : own) merged[name] = value;
  std::vector<std::string> entries;
  entries.reserve(merged.size());
  for (const auto& [name, value] : merged) entries.push_back(str_cat(name, "=", value));
  return entries;
}

// The array of C strings that exec takes; valid as long as `texts` is.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string start_error(const KeeperReport& report, const std::string& program,
                        const std::string& directory) {
  switch (report.stage) {
    case KeeperReport::Stage::fork:
      return str_cat("no more processes: ", strerror(report.value));
    case KeeperReport::Stage::directory:
      return str_cat("can't enter directory '", directory, "': ", strerror(report.value));
    case KeeperReport::Stage::program:
      break;
  }
  bool looked_up = program.find('/') == std::string::npos;
  if (report.value == ENOENT)
    return str_cat("no program '", program, "'", looked_up ? " on the PATH" : "");
  return str_cat("can't run '", program, "': ", strerror(report.value));
}

}  // namespace

Result<TaskProcess> TaskProcess::start(const TaskPlan& plan, HeldPort port,
                                       const Options& options) {
  MR_ASSIGN(Pipe control, make_pipe());
  MR_ASSIGN(Pipe reports, make_pipe());
  MR_ASSIGN(Pipe out, make_pipe());
  MR_ASSIGN(Pipe err, make_pipe());
  std::vector<std::string> arguments = plan.argv;
  std::vector<std::string> entries = merged_environment(plan.environment);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> environment = pointers(entries);
  KeeperDuty duty{
      .control = control.read.number(),
      .reports = reports.write.number(),
      .out = out.write.number(),
      .err = err.write.number(),
      .listen = options.ports == PortHandling::inherited ? port.descriptor() : -1,
      .directory = options.directory.c_str(),
      .argv = argv.data(),
      .environment = environment.data(),
      .task_signals = {},
      .task_files = options.files,
  };
  sigemptyset(&duty.task_signals);

  pid_t keeper = fork();
  if (keeper == 0) keep_task(duty);
  if (keeper < 0) return system_error("no process for a task", errno);
  never_block(reports.read);
  never_block(out.read);
  never_block(err.read);
  return TaskProcess(plan.argv[0], options.directory, keeper, std::move(control.write),
                     std::move(reports.read), std::move(out.read), std::move(err.read));
}

TaskProcess::TaskProcess(std::string program, std::string directory, pid_t keeper,
                         Descriptor control, Descriptor reports, Descriptor out, Descriptor err)
    : program_(std::move(program)),
      directory_(std::move(directory)),
      keeper_(keeper),
      control_(std::move(control)),
      reports_(std::move(reports)),
      out_(std::move(out)),
      err_(std::move(err)) {}

// The control pipe closes with it: the keeper kills what is left.
TaskProcess::~TaskProcess() = default;

void TaskProcess::terminate() {
  [[maybe_unused]] ssize_t sent = write(control_.number(), &kTerminateTask, 1);
}

void TaskProcess::kill() {
  [[maybe_unused]] ssize_t sent = write(control_.number(), &kKillTask, 1);
}

std::optional<ProcessEnd> TaskProcess::read_end() {
  while (reports_.is_open()) {
    KeeperReport report;
    ssize_t size = read(reports_.number(), &report, sizeof report);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size != sizeof report) {
      reports_.close();
      if (end_read_) return {};
      end_read_ = true;
      return ProcessEnd{.start_error = "", .wait_status = SIGKILL};  // the keeper was killed
    }
    if (end_read_) continue;  // the end of the process that could not become the program
    end_read_ = true;
    if (report.kind == KeeperReport::Kind::not_started)
      return ProcessEnd{.start_error = start_error(report, program_, directory_)};
    return ProcessEnd{
        .start_error = "", .wait_status = report.value, .peak_memory = report.peak_memory};
  }
  return {};
}

void TaskProcess::reap() {
  control_.close();
  if (keeper_ == 0) return;
  int options = reports_.is_open() ? WNOHANG : 0;
  while (waitpid(keeper_, nullptr, options) < 0 && errno == EINTR) continue;
  keeper_ = 0;
}

}  // namespace millrace

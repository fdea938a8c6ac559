#include "millrace/launch/local_process.h"

#include <fcntl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <vector>

#include "millrace/cluster/environment.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/local_keeper.h"
#include "millrace/launch/signal_words.h"

extern char** environ;

namespace millrace {
namespace {

Status system_error(std::string_view what, int fault) {
  return error(Code::resource_exhausted, what, ": ", strerror(fault));
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
  // A launcher that is itself a task must not hand its own socket and report on.
  merged.erase(kListenDescriptorVariable);
  merged.erase(kReportDescriptorVariable);
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
    case KeeperReport::Stage::group:
      return str_cat("its memory can't be limited: ", strerror(report.value));
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

Result<TaskProcess> TaskProcess::start(const TaskPlan& plan, std::optional<HeldPort> port,
                                       const Options& options) {
  MR_ASSIGN(Pipe control, make_pipe());
  MR_ASSIGN(Pipe reports, make_pipe());
  MR_ASSIGN(Pipe out, make_pipe());
  MR_ASSIGN(Pipe err, make_pipe());
  MR_ASSIGN(Pipe records, make_pipe());
  Pipe input;
  if (!plan.input.empty()) {
    MR_ASSIGN(input, make_pipe());
    // Less than a pipe takes at once.
    if (write(input.write.number(), plan.input.data(), plan.input.size()) !=
        static_cast<ssize_t>(plan.input.size()))
      return system_error("no input for a task", errno);
  }
  std::vector<std::string> arguments = plan.argv;
  std::vector<std::string> entries = merged_environment(plan.environment);
  std::vector<char*> argv = pointers(arguments);
  std::vector<char*> environment = pointers(entries);
  KeeperDuty duty{
      .control = control.read.number(),
      .reports = reports.write.number(),
      .out = out.write.number(),
      .err = err.write.number(),
      .records = records.write.number(),
      .input = input.read.number(),
      .listen = port && options.ports == PortHandling::inherited ? port->descriptor() : -1,
      .left_alone = static_cast<int>(options.left_alone.count()),
      .group = options.group.c_str(),
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
  never_block(records.read);
  return TaskProcess(plan.argv[0], options.directory, keeper,
                     {.control = std::move(control.write),
                      .reports = std::move(reports.read),
                      .out = std::move(out.read),
                      .err = std::move(err.read),
                      .records = std::move(records.read),
                      .input = std::move(input.write)});
}

TaskProcess::TaskProcess(std::string program, std::string directory, pid_t keeper, Pipes pipes)
    : program_(std::move(program)),
      directory_(std::move(directory)),
      keeper_(keeper),
      pipes_(std::move(pipes)) {}

// The control pipe closes with it: the keeper kills what is left.
TaskProcess::~TaskProcess() = default;

void TaskProcess::terminate() {
  if (pipes_.input.is_open()) return pipes_.input.close();
  [[maybe_unused]] ssize_t sent = write(pipes_.control.number(), &kTerminateTask, 1);
}

void TaskProcess::pass_on(int signal) {
  if (!pipes_.input.is_open()) return;
  const std::string line = signal_line(signal);
  [[maybe_unused]] ssize_t sent = write(pipes_.input.number(), line.data(), line.size());
}

void TaskProcess::kill() {
  [[maybe_unused]] ssize_t sent = write(pipes_.control.number(), &kKillTask, 1);
}

void TaskProcess::read_records(TaskRecords& records) {
  std::array<char, kLongestRecord> bytes;
  while (pipes_.records.is_open()) {
    const ssize_t size = read(pipes_.records.number(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) return pipes_.records.close();
    records.feed({bytes.data(), static_cast<size_t>(size)});
  }
}

std::optional<ProcessEnd> TaskProcess::read_end() {
  while (pipes_.reports.is_open()) {
    KeeperReport report;
    ssize_t size = read(pipes_.reports.number(), &report, sizeof report);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (size != sizeof report) {
      pipes_.reports.close();
      if (end_read_) return {};
      end_read_ = true;
      return ProcessEnd{.start_error = "", .wait_status = SIGKILL, .lost = true};
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

bool TaskProcess::keeper_has_ended() const {
  if (keeper_ == 0) return true;
  siginfo_t end{};
  return waitid(P_PID, static_cast<id_t>(keeper_), &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         end.si_pid != 0;
}

void TaskProcess::reap() {
  pipes_.control.close();
  if (keeper_ == 0) return;
  int options = pipes_.reports.is_open() ? WNOHANG : 0;
  while (waitpid(keeper_, nullptr, options) < 0 && errno == EINTR) continue;
  keeper_ = 0;
}

}  // namespace millrace

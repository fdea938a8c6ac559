#include "millrace/launch/yarn/local_errand.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/cluster/environment.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/plan.h"
#include "millrace/launch/reach.h"
#include "millrace/launch/yarn/application.h"
#include "millrace/launch/yarn/container_image.h"
#include "millrace/launch/yarn/errand_lines.h"
#include "millrace/launch/yarn/master_socket.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

constexpr int kBetweenRepeats = 100;  // milliseconds
constexpr std::chrono::seconds kToBeKilled{2};
constexpr size_t kAtOnce = 65'536;
constexpr mode_t kForUser = 0700;

// A file that the container's program writes, repeated as it grows. It is opened anew for every
// look: network file systems show only then what other machines have written.
class Repeated {
 public:
  Repeated(std::string path, int to) : path_(std::move(path)), to_(to) {}
  ~Repeated() { unlink(path_.c_str()); }
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  // What is there now, to its end; what comes meanwhile is left for the next look.
  void repeat() {
    const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!file.is_open() || fstat(file.number(), &facts) != 0) return;
    std::array<char, kAtOnce> bytes;
    while (position_ < facts.st_size) {
      const ssize_t size = pread(file.number(), bytes.data(), bytes.size(), position_);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return;
      position_ += size;
      write_all({bytes.data(), static_cast<size_t>(size)});
    }
  }

 private:
  // Nobody who reads is no reason to stop: the program would not for that either.
  void write_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t size = write(to_, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return;
      bytes.remove_prefix(static_cast<size_t>(size));
    }
  }

  const std::string path_;
  const int to_;
  off_t position_ = 0;
};

// The script that the container runs, where this process works and with what it was passed on.
std::string script_of(const ErrandOptions& options) {
  std::string text;
  // A machine that shares no folder has its own paths.
  if (options.served_at.empty()) {
    for (const char* name : kPassedOn)
      if (const char* value = std::getenv(name); value != nullptr)
        str_append(&text, "export ", name, "=", shell_quoted(value), "\n");
    std::error_code ignored;
    str_append(&text, "cd ", shell_quoted(std::filesystem::current_path(ignored).string()),
               " || exit 126\n");
  }
  text += "exec";
  for (const std::string& word : options.command) str_append(&text, " ", shell_quoted(word));
  return text + "\n";
}

Status write_script(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kForUser));
  if (file.is_open() &&
      write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return unavailable("can't write '", path, "': ", strerror(errno));
}

std::string command_of(const ErrandOptions& options) {
  const std::string& files = options.files;
  if (options.served_at.empty())
    return str_cat("exec /bin/sh '", files, ".sh' 1>'", files, ".out' 2>'", files, ".err'");
  return str_cat(kStagedPath, " && exec millrace yarn-inside --at '", options.served_at,
                 "' --files '", std::filesystem::path(files).filename().string(),
                 "' --logs '<LOG_DIR>'");
}

ContainerWanted wanted_by(const ErrandOptions& options) {
  ContainerWanted wanted{.wish = options.wish, .launch = {.command = command_of(options)}};
  std::string mounts = options.mounts;
  if (options.served_at.empty()) {
    std::error_code ignored;
    mounts = with_folder(mounts, std::filesystem::path(options.files).parent_path().string());
    mounts = with_folder(mounts, std::filesystem::current_path(ignored).string());
  }
  wanted.launch.environment = environment_of_image(options.image, mounts);
  if (const char* token = std::getenv(kTokenVariable); token != nullptr)
    wanted.launch.environment.emplace_back(kTokenVariable, token);
  return wanted;
}

class ErrandRun {
 public:
  ErrandRun(const ErrandOptions& options, Descriptor master)
      : master_(std::move(master)),
        out_(options.files + ".out", STDOUT_FILENO),
        err_(options.files + ".err", STDERR_FILENO) {}

  Result<int> run(const ContainerWanted& wanted) {
    MR_TRY(say(wanted));
    while (!end_) {
      std::array<pollfd, 2> events = {pollfd{signals_.descriptor(), POLLIN, 0},
                                      pollfd{master_.number(), POLLIN, 0}};
      poll(events.data(), events.size(), kBetweenRepeats);
      while (signals_.take()) (void)say(ContainerToEnd{});
      if (events[1].revents != 0) hear();
      out_.repeat();
      err_.repeat();
    }
    if (!end_->words.empty()) tell(end_->words);
    return end_->code;
  }

 private:
  Status say(const ErrandSays& says) {
    const std::string line = to_line(says);
    if (send(master_.number(), line.data(), line.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(line.size()))
      return {};
    return unavailable("the application master does not hear: ", strerror(errno));
  }

  void hear() {
    std::array<char, 4096> bytes;
    const ssize_t size = recv(master_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (size <= 0) {
      // The kernel kills the launcher with it, and that one's keeper this process: then it is the
      // launcher of which is told, and not each task.
      pause(kToBeKilled);
      end_ = taken_away("its application master is gone");
      return;
    }
    lines_.feed({bytes.data(), static_cast<size_t>(size)}, [this](std::string_view line) {
      const Result<MasterSays> says = parse_master(line);
      if (!says.ok()) return;
      if (const auto* runs = std::get_if<ContainerRuns>(&*says))
        tell(str_cat("runs in ", runs->container, " on ", runs->node));
      if (const auto* end = std::get_if<ContainerEnd>(&*says)) end_ = *end;
    });
  }

  // As hear_yarn() takes it.
  static void tell(std::string_view words) {
    const std::string line = str_cat("yarn: ", words, "\n");
    (void)!write(STDERR_FILENO, line.data(), line.size());
  }

  const Descriptor master_;
  SignalWatch signals_;
  LineSplitter lines_;
  Repeated out_;
  Repeated err_;
  std::optional<ContainerEnd> end_;
};

// What one attempt writes is none of the next: files may be left of one that was killed.
ErrandOptions of_this_attempt(ErrandOptions options) {
  const char* attempt = std::getenv(kAttemptVariable);
  if (attempt != nullptr && attempt != std::string_view("1"))
    str_append(&options.files, ".", attempt);
  return options;
}

}  // namespace

Result<int> run_errand(const ErrandOptions& given) {
  const ErrandOptions options = of_this_attempt(given);
  const std::string script = options.files + ".sh";
  MR_TRY(write_script(script, script_of(options)));
  MR_ASSIGN(Descriptor master, connect_to_master(options.master));
  Result<int> code = ErrandRun(options, std::move(master)).run(wanted_by(options));
  unlink(script.c_str());
  return code;
}

}  // namespace millrace

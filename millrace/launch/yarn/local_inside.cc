#include "millrace/launch/yarn/local_inside.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "millrace/base/str_cat.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/local_tries.h"
#include "millrace/launch/yarn/folder_client.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr int kBetweenSends = 100;  // milliseconds
constexpr size_t kSentAtOnce = size_t{1} << 20;
constexpr int kDiedOfSignal = 128;
constexpr int kNotStarted = 126;
// How long what a program has written is kept for a launcher that does not answer.
constexpr seconds kForTheRest{30};
constexpr seconds kAfterSilence{1};
constexpr mode_t kKeptForOwner = 0600;

// A file that the program writes, as far as the launcher has it.
class SentFile {
 public:
  SentFile(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}

  Result<Descriptor> create() const {
    Descriptor file(
        open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kKeptForOwner));
    if (file.is_open()) return file;
    return unavailable("can't write '", path_, "': ", std::strerror(errno));
  }

  // Up to its end. Errors: those of the client; what was not sent is sent next time.
  Status send(FolderClient& client, const FolderClient::Server& server) {
    const Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    std::string bytes(kSentAtOnce, '\0');
    for (;;) {
      const ssize_t size =
          pread(file.number(), bytes.data(), bytes.size(), static_cast<off_t>(position_));
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return {};
      MR_TRY(client.write(server, name_, position_,
                          std::string_view(bytes).substr(0, static_cast<size_t>(size))));
      position_ += static_cast<uint64_t>(size);
    }
  }

 private:
  const std::string path_;
  const std::string name_;
  uint64_t position_ = 0;
};

class Inside {
 public:
  explicit Inside(const InsideOptions& options)
      : options_(options),
        server_{options.at, options.token},
        out_(options.logs + "/stdout", options.files + ".out"),
        err_(options.logs + "/stderr", options.files + ".err") {}

  Result<int> run() {
    const auto had =
        ask_again(Tries::several, [&] { return client_.read(server_, options_.files + ".sh"); });
    if (!had.ok()) return had.status();
    MR_TRY(start(*had));
    SignalWatch signals({SIGCHLD});
    while (!code_) {
      pollfd event = {signals.descriptor(), POLLIN, 0};
      poll(&event, 1, kBetweenSends);
      heed(signals);
      send();
    }
    const Clock::Time until = options_.clock.now() + kForTheRest;
    while (!send() && options_.clock.now() < until) pause(kAfterSilence);
    return *code_;
  }

 private:
  Status start(const std::string& script) {
    MR_ASSIGN(const Descriptor out, out_.create());
    MR_ASSIGN(const Descriptor err, err_.create());
    pid_ = fork();
    if (pid_ < 0) return unavailable("no process: ", std::strerror(errno));
    if (pid_ > 0) return {};
    dup2(out.number(), STDOUT_FILENO);
    dup2(err.number(), STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    _exit(kNotStarted);
  }

  void heed(SignalWatch& signals) {
    while (signals.take()) continue;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) != pid_) return;
    code_ = WIFSIGNALED(status) ? kDiedOfSignal + WTERMSIG(status) : WEXITSTATUS(status);
  }

  // False if the launcher does not have all of it: it is asked again in a while.
  bool send() {
    const Clock::Time now = options_.clock.now();
    if (now < not_before_) return false;
    const Status sent_out = out_.send(client_, server_);
    const Status sent_err = sent_out.ok() ? err_.send(client_, server_) : sent_out;
    if (!sent_err.ok()) not_before_ = now + kAfterSilence;
    return sent_err.ok();
  }

  const InsideOptions& options_;
  const FolderClient::Server server_;
  FolderClient client_;
  SentFile out_;
  SentFile err_;
  pid_t pid_ = 0;
  std::optional<int> code_;
  Clock::Time not_before_ = {};
};

}  // namespace

Result<int> run_inside(const InsideOptions& options) { return Inside(options).run(); }

}  // namespace millrace

#include "millrace/launch/local_attendant.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "millrace/cluster/roster.h"
#include "millrace/cluster/task_record.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/local_farewells.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Clock::Duration kTellingTime = seconds(10);
// A helper that is just being started again has to hear that it is needed no longer.
constexpr Clock::Duration kTellingHelpersTime = seconds(120);
constexpr milliseconds kBetweenRosters{500};
// A roster that is late may have a task as absent that comes just now: so long it has to say that
// nobody is left to work for.
constexpr Clock::Duration kUntilBelieved = seconds(4);
constexpr milliseconds kBetweenKills{100};  // of a program that the system can't end at once
constexpr int kFailed = 1;
constexpr int kSignalBase = 128;
constexpr int kOfSigterm = kSignalBase + SIGTERM;
// A pod is in DNS a moment after it has its address.
constexpr Clock::Duration kToBeKnown = seconds(30);
constexpr milliseconds kBetweenNames{200};

// Where the attendants of these tasks listen.
std::vector<HostPort> attendants_of(const AttendedTask& task, const std::vector<TaskName>& whom) {
  std::vector<HostPort> attendants;
  for (const TaskName& other : whom)
    if (const Result<std::string> address = task.cluster.address(other); address.ok())
      if (const Result<HostPort> place = HostPort::parse(*address); place.ok())
        attendants.push_back({place->host, task.farewell_port});
  return attendants;
}

// --- who is there ---

// The roster, read again and again.
class Roster {
 public:
  Roster(const AttendedTask& task) : path_(task.roster), self_(short_name(task.task)) {}

  bool is_kept() const { return !path_.empty(); }

  // The tasks that are absent, if that is time to be looked at.
  std::optional<std::set<std::string, std::less<>>> look(Clock::Time now) {
    if (!is_kept() || now < next_look_) return {};
    next_look_ = now + kBetweenRosters;
    std::ifstream file(path_, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    // While it is replaced, what was read before counts.
    if (!file) return {};
    std::set<std::string, std::less<>> absent;
    for (const auto& [name, address] : parse_roster(text.str())) absent.insert(name);
    const bool is_named = absent.erase(self_) > 0;
    // One that starts is wanted, whatever a roster from before says.
    has_been_there_ = has_been_there_ || !is_named;
    is_to_go_ = has_been_there_ && is_named;
    return absent;
  }

  bool is_to_go() const { return is_to_go_; }
  Clock::Time next_look() const { return is_kept() ? next_look_ : Clock::Time::max(); }

 private:
  const std::string path_;
  const std::string self_;
  Clock::Time next_look_ = {};
  bool has_been_there_ = false;
  bool is_to_go_ = false;
};

// --- the program ---

constexpr int kCannotRunIt = 126;
constexpr int kNoSuchCommand = 127;

[[noreturn]] void become_program(const std::vector<std::string>& command) {
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  _exit(become_command(command));
}

class Attendant {
 public:
  Attendant(const AttendedTask& task, const Clock& clock)
      : task_(task),
        clock_(clock),
        roster_(task),
        farewells_(task.cluster, task.task, task.rules, task.token) {}

  int run() {
    await_own_name();
    if (!stopped_ && task_.failures > 0 && task_.rules.are_restarted) ask_others();
    if (stopped_) return code_of_stop(kOfSigterm);
    const std::optional<int> ended = task_.trouble.ok() ? run_program() : troubled();
    if (!ended) return kFailed;
    const int code = *ended;
    if (stopped_) return code_of_stop(code);
    if (is_followed(code)) {
      note_of_join(str_cat(short_name(task_.task), " ended with exit code ", code,
                           " and is started again: restart ", task_.failures + 1, " of ",
                           task_.restarts));
      return code == 0 ? kStartsAgain : code;
    }
    say_farewell(code == 0 ? FarewellEnd::succeeded : farewells_.own_failure());
    return code;
  }

 private:
  static bool is_of_the_stop(int code) {
    return code == kSignalBase + SIGTERM || code == kSignalBase + SIGKILL;
  }

  int code_of_stop(int code) const {
    if (*stopped_ == kScaledDown) return 0;
    if (*stopped_ == kJobFinished && is_of_the_stop(code)) return 0;
    const bool would_come_again = task_.restarts > 0 && *stopped_ != kAskedToEnd;
    return would_come_again && code != 0 ? kEndedForGood : code;
  }

  // Its exit code; not set: there was no process for it.
  std::optional<int> run_program() {
    program_ = fork();
    if (program_ == 0) become_program(task_.command);
    if (program_ < 0) {
      note_of_join(str_cat("no process for '", task_.command[0], "': ", strerror(errno)));
      return {};
    }
    setpgid(program_, program_);  // as it does itself: whoever is first
    while (!status_) turn();
    const int code =
        WIFSIGNALED(*status_) ? kSignalBase + WTERMSIG(*status_) : WEXITSTATUS(*status_);
    const Status done = task_.afterwards ? task_.afterwards() : Status();
    if (done.ok()) return code;
    note_of_join(done.message());
    return code == 0 ? kFailed : code;
  }

  int troubled() const {
    note_of_join(task_.trouble.message());
    return kFailed;
  }

  // By another life of the task.
  bool is_followed(int code) const {
    if (task_.failures >= task_.restarts) return false;
    return code == 0 ? task_.after_success : task_.codes.contains(code) == task_.after_listed;
  }

  // Others call this task as soon as its program calls them, and a name that is not known yet, or
  // that of a life before, would fail them.
  void await_own_name() {
    const Result<std::string> address = task_.cluster.address(task_.task);
    if (!address.ok()) return;
    const Clock::Time deadline = clock_.now() + kToBeKnown;
    while (!leads_here(*address)) {
      if (clock_.now() >= deadline)
        return note_of_join(str_cat("the name in ", *address, " does not lead here after ",
                                    kToBeKnown / seconds(1), " s: others may not find this task"));
      pollfd signal{signals_.descriptor(), POLLIN, 0};
      poll(&signal, 1, static_cast<int>(kBetweenNames.count()));
      const std::optional<TakenSignal> taken = signals_.take();
      if (!taken || taken->number == SIGCHLD) continue;
      stopped_ = kAskedToEnd;
      return write_stop();
    }
  }

  // A life before this one may have heard of ends that nobody tells again.
  void ask_others() {
    ask_them(attendants_of(task_, farewells_.to_tell(FarewellEnd::asks)),
             to_line(farewells_.own(FarewellEnd::asks)), clock_, [this](std::string_view line) {
               std::optional<std::string> why = farewells_.heard(line);
               if (!why || stopped_) return;
               stopped_ = std::move(why);
               write_stop();
             });
  }

  void say_farewell(FarewellEnd end) {
    const std::string line = to_line(farewells_.own(end));
    std::vector<HostPort> unheard =
        tell(attendants_of(task_, farewells_.to_tell(end)), line, kTellingTime, signals_, clock_);
    if (task_.rules.are_restarted && end == FarewellEnd::succeeded) {
      const std::vector<HostPort> helpers = attendants_of(task_, farewells_.helpers_to_tell());
      std::erase_if(unheard, [&](const HostPort& place) {
        return std::ranges::find(helpers, place) == helpers.end();
      });
      unheard = tell(std::move(unheard), line, kTellingHelpersTime, signals_, clock_);
    }
    if (!unheard.empty())
      note_of_join(str_cat(unheard.size(),
                           " of the other tasks did not hear of the end; the first is at ",
                           unheard[0].to_string()));
  }

  void turn() {
    std::vector<pollfd> events = {{signals_.descriptor(), POLLIN, 0}};
    callers_.add_descriptors(events);
    const Clock::Time until = std::min(
        {kill_at_.value_or(Clock::Time::max()), callers_.first_end(), roster_.next_look()});
    const bool is_endless = until == Clock::Time::max();
    poll(events.data(), events.size(), is_endless ? -1 : poll_milliseconds(until, clock_.now()));
    while (std::optional<TakenSignal> signal = signals_.take())
      if (signal->number != SIGCHLD) stop(std::string(kAskedToEnd), signal->number);
    callers_.turn(clock_.now(), [this](std::string_view line) {
      if (std::optional<std::string> why = farewells_.heard(line)) stop(*why, SIGTERM);
      return farewells_.answer(line).value_or("");
    });
    heed_roster(clock_.now());
    if (kill_at_ && clock_.now() >= *kill_at_) {
      kill(-program_, SIGKILL);
      kill_at_ = clock_.now() + kBetweenKills;
    }
    reap();
  }

  void heed_roster(Clock::Time now) {
    std::optional<std::set<std::string, std::less<>>> absent = roster_.look(now);
    if (!absent || stopped_) return;
    farewells_.set_absent(std::move(*absent));
    if (roster_.is_to_go()) return stop(std::string(kScaledDown), SIGTERM);
    if (!farewells_.seems_finished()) return finished_since_.reset();
    if (!finished_since_) finished_since_ = now;
    if (now >= *finished_since_ + kUntilBelieved) stop(std::string(kJobFinished), SIGTERM);
  }

  void stop(const std::string& why, int signal) {
    if (!stopped_) {
      stopped_ = why;
      kill_at_ = clock_.now() + task_.grace;
      write_stop();
    }
    kill(-program_, signal);
  }

  void write_stop() const {
    if (task_.record_file.empty()) return;
    const Descriptor file(
        open(task_.record_file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
    const std::string line = stop_line(*stopped_);
    [[maybe_unused]] const ssize_t size = write(file.number(), line.data(), line.size());
  }

  // Orphans of the program too: they come to the first process of a container.
  void reap() {
    int status = 0;
    for (pid_t pid = 1; pid > 0;) {
      pid = waitpid(-1, &status, WNOHANG);
      if (pid == program_) status_ = status;
    }
  }

  const AttendedTask& task_;
  const Clock& clock_;
  SignalWatch signals_{SIGCHLD};
  Callers callers_{task_.farewell_port};
  Roster roster_;
  Farewells farewells_;
  pid_t program_ = -1;
  std::optional<int> status_;
  std::optional<std::string> stopped_;  // why
  std::optional<Clock::Time> kill_at_;
  std::optional<Clock::Time> finished_since_;  // by a roster, as far as that is known
};

}  // namespace

int become_command(const std::vector<std::string>& command) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  const int fault = errno;
  note_of_join(str_cat("can't run '", command[0], "': ", strerror(fault)));
  return fault == ENOENT ? kNoSuchCommand : kCannotRunIt;
}

int attend(const AttendedTask& task, const Clock& clock) { return Attendant(task, clock).run(); }

}  // namespace millrace

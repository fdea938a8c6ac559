#include "millrace/launch/local_attendant.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>

#include "millrace/cluster/roster.h"
#include "millrace/cluster/task_record.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/farewell.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Clock::Duration kPatienceWithCallers = seconds(10);
constexpr Clock::Duration kTellingTime = seconds(10);
// A helper that is just being started again has to hear that it is needed no longer.
constexpr Clock::Duration kTellingHelpersTime = seconds(120);
constexpr Clock::Duration kAskingTime = seconds(3);
constexpr milliseconds kBetweenCalls{300};
constexpr milliseconds kBetweenRosters{500};
// A roster that is late may have a task as absent that comes just now: so long it has to say that
// nobody is left to work for.
constexpr Clock::Duration kUntilBelieved = seconds(4);
constexpr milliseconds kBetweenKills{100};  // of a program that the system can't end at once
constexpr size_t kMostCallers = 256;
constexpr size_t kMostCalls = 64;
constexpr int kCallBacklog = 1024;
constexpr int kSignalBase = 128;

void note(std::string_view text) { std::cerr << "millrace join: " << text << std::endl; }

// --- hearing ---

// Those who call to say farewell.
class Callers {
 public:
  // Without a port nothing is heard; the task runs all the same.
  Callers() {
    Result<HeldPort> port = HeldPort::bind("::", kFarewellPort);
    if (!port.ok()) port = HeldPort::bind("0.0.0.0", kFarewellPort);
    if (port.ok()) listener_ = Descriptor(fcntl(port->descriptor(), F_DUPFD_CLOEXEC, 0));
    if (listener_.is_open() && listen(listener_.number(), kCallBacklog) == 0) {
      fcntl(listener_.number(), F_SETFL, fcntl(listener_.number(), F_GETFL) | O_NONBLOCK);
      return;
    }
    listener_.close();
    note(str_cat("port ", kFarewellPort, " can't be had, so that this task does not hear when the ",
                 "others end: ", port.ok() ? strerror(errno) : port.status().message()));
  }

  void add_descriptors(std::vector<pollfd>& events) const {
    if (listener_.is_open() && callers_.size() < kMostCallers)
      events.push_back({listener_.number(), POLLIN, 0});
    for (const auto& [number, caller] : callers_) events.push_back({number, POLLIN, 0});
  }

  // When the first of them has had its time. They leave room for others then, so that strangers who
  // say nothing keep nobody out.
  Clock::Time first_end() const {
    Clock::Time first = Clock::Time::max();
    for (const auto& [number, caller] : callers_)
      first = std::min(first, caller.since + kPatienceWithCallers);
    return first;
  }

  // Hands on each line that was said, and writes back what that answers, without waiting.
  template <class Sink>
  void turn(Clock::Time now, const Sink& sink) {
    accept_all(now);
    for (auto it = callers_.begin(); it != callers_.end();) {
      Caller& caller = it->second;
      const bool is_over = now >= caller.since + kPatienceWithCallers || !read(caller, sink);
      it = is_over ? callers_.erase(it) : std::next(it);
    }
  }

 private:
  struct Caller {
    Descriptor socket;
    Clock::Time since;
    size_t bytes = 0;
    LineSplitter lines = {};
  };

  void accept_all(Clock::Time now) {
    while (listener_.is_open() && callers_.size() < kMostCallers) {
      Descriptor socket(
          accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) return;
      const int number = socket.number();
      callers_.emplace(number, Caller{.socket = std::move(socket), .since = now});
    }
  }

  template <class Sink>
  static bool read(Caller& caller, const Sink& sink) {
    std::array<char, kLongestFarewell> bytes;
    const ssize_t size = recv(caller.socket.number(), bytes.data(), bytes.size(), 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    caller.bytes += static_cast<size_t>(size);
    caller.lines.feed({bytes.data(), static_cast<size_t>(size)}, [&](std::string_view line) {
      const std::string answer = sink(line);
      // What does not get through at once is lost: the others will tell as well.
      if (!answer.empty())
        (void)!send(caller.socket.number(), answer.data(), answer.size(), MSG_NOSIGNAL);
    });
    return size > 0 && caller.bytes <= kLongestFarewell;
  }

  Descriptor listener_;
  std::map<int, Caller> callers_;
};

// --- telling ---

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// A connection that is being made to a task's attendant; not open if it can't be.
Descriptor call(const std::string& address) {
  Result<HostPort> place = HostPort::parse(address);
  if (!place.ok()) return {};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(place->host.c_str(), std::to_string(kFarewellPort).c_str(), &hints, &found) != 0)
    return {};
  const Addresses list(found, &freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.is_open() && connect(socket.number(), found->ai_addr, found->ai_addrlen) != 0 &&
      errno != EINPROGRESS)
    return {};
  return socket;
}

// Calls these tasks, and says the line to those that answer at once. Returns who has not heard it.
std::vector<std::string> say_to(std::span<const std::string> addresses, const std::string& line,
                                Clock::Time deadline, const Clock& clock) {
  std::vector<Descriptor> calls;
  std::vector<pollfd> events;
  for (const std::string& address : addresses) {
    // To find out where a name leads may take long.
    calls.push_back(clock.now() < deadline ? call(address) : Descriptor());
    events.push_back({calls.back().number(), POLLOUT, 0});
  }
  const Clock::Time patience = std::min(deadline, clock.now() + seconds(1));
  auto open = std::ranges::count_if(calls, &Descriptor::is_open);
  std::vector<bool> has_heard(calls.size(), false);
  for (bool in_time = true; open > 0 && in_time; in_time = clock.now() < patience) {
    if (poll(events.data(), events.size(), poll_milliseconds(patience, clock.now())) <= 0) continue;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (events[i].revents == 0) continue;
      has_heard[i] = send(calls[i].number(), line.data(), line.size(), MSG_NOSIGNAL) ==
                     static_cast<ssize_t>(line.size());
      events[i].fd = -1;
      --open;
    }
  }
  std::vector<std::string> unheard;
  for (size_t i = 0; i < calls.size(); ++i)
    if (!has_heard[i]) unheard.push_back(addresses[i]);
  return unheard;
}

std::vector<std::string> addresses_of(const AttendedTask& task, const std::vector<TaskName>& whom) {
  std::vector<std::string> addresses;
  for (const TaskName& other : whom)
    if (Result<std::string> address = task.cluster.address(other); address.ok())
      addresses.push_back(std::move(*address));
  return addresses;
}

// Tells all of them, each until it has heard or the time is over. Ends early for a signal. Returns
// who has not heard.
std::vector<std::string> tell(std::vector<std::string> left, const std::string& line,
                              Clock::Duration time, SignalWatch& signals, const Clock& clock) {
  const Clock::Time deadline = clock.now() + time;
  while (!left.empty() && clock.now() < deadline) {
    std::vector<std::string> unheard;
    for (size_t first = 0; first < left.size(); first += kMostCalls) {
      const size_t count = std::min(kMostCalls, left.size() - first);
      std::ranges::move(say_to(std::span(left).subspan(first, count), line, deadline, clock),
                        std::back_inserter(unheard));
    }
    left = std::move(unheard);
    if (left.empty()) break;
    // Who does not answer at once is called again.
    pollfd signal{signals.descriptor(), POLLIN, 0};
    if (poll(&signal, 1, static_cast<int>(kBetweenCalls.count())) > 0 && signals.take()) break;
  }
  return left;
}

// --- asking ---

struct Question {
  Descriptor socket;
  bool is_said = false;
  LineSplitter lines = {};
};

// Says the question, or takes what is answered. False when nothing more is to come.
template <class Sink>
bool go_on(Question& question, const std::string& line, const Sink& sink) {
  const int socket = question.socket.number();
  if (!std::exchange(question.is_said, true))
    return send(socket, line.data(), line.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(line.size()) &&
           shutdown(socket, SHUT_WR) == 0;
  std::array<char, 4096> bytes;
  const ssize_t size = recv(socket, bytes.data(), bytes.size(), 0);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  question.lines.feed({bytes.data(), static_cast<size_t>(size)}, sink);
  return size > 0;
}

// Asks some of these tasks, all at once, and hands on what those that are there answer.
template <class Sink>
void ask_them(const std::vector<std::string>& addresses, const std::string& line,
              const Clock& clock, const Sink& sink) {
  const Clock::Time deadline = clock.now() + kAskingTime;
  std::vector<Question> questions;
  for (const std::string& address : addresses) {
    if (questions.size() == kMostCalls || clock.now() >= deadline) break;
    questions.push_back({.socket = call(address)});
  }
  while (clock.now() < deadline) {
    std::erase_if(questions, [](const Question& it) { return !it.socket.is_open(); });
    if (questions.empty()) return;
    std::vector<pollfd> events;
    for (const Question& it : questions)
      events.push_back({it.socket.number(), static_cast<short>(it.is_said ? POLLIN : POLLOUT), 0});
    if (poll(events.data(), events.size(), poll_milliseconds(deadline, clock.now())) <= 0) continue;
    for (size_t i = 0; i < questions.size(); ++i)
      if (events[i].revents != 0 && !go_on(questions[i], line, sink)) questions[i].socket.close();
  }
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
    if (task_.failures > 0 && task_.rules.are_restarted) ask_others();
    if (stopped_) return *stopped_ == kJobFinished ? 0 : kEndedForGood;
    program_ = fork();
    if (program_ == 0) become_program(task_.command);
    if (program_ < 0) {
      note(str_cat("no process for '", task_.command[0], "': ", strerror(errno)));
      return 1;
    }
    setpgid(program_, program_);  // as it does itself: whoever is first
    while (!status_) turn();
    const int code =
        WIFSIGNALED(*status_) ? kSignalBase + WTERMSIG(*status_) : WEXITSTATUS(*status_);
    if (stopped_) return code_of_stop(code);
    if (code != 0 && is_followed(code)) {
      note(str_cat(short_name(task_.task), " ended with exit code ", code,
                   " and is started again: restart ", task_.failures + 1, " of ", task_.restarts));
      return code;
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

  // By another life of the task.
  bool is_followed(int code) const {
    return task_.failures < task_.restarts && task_.codes.contains(code) == task_.after_listed;
  }

  // A life before this one may have heard of ends that nobody tells again.
  void ask_others() {
    ask_them(addresses_of(task_, farewells_.to_tell(FarewellEnd::asks)),
             to_line(farewells_.own(FarewellEnd::asks)), clock_, [this](std::string_view line) {
               std::optional<std::string> why = farewells_.heard(line);
               if (!why || stopped_) return;
               stopped_ = std::move(why);
               write_stop();
             });
  }

  void say_farewell(FarewellEnd end) {
    const std::string line = to_line(farewells_.own(end));
    std::vector<std::string> unheard =
        tell(addresses_of(task_, farewells_.to_tell(end)), line, kTellingTime, signals_, clock_);
    if (task_.rules.are_restarted && end == FarewellEnd::succeeded) {
      const std::vector<std::string> helpers = addresses_of(task_, farewells_.helpers_to_tell());
      std::erase_if(unheard, [&](const std::string& address) {
        return std::ranges::find(helpers, address) == helpers.end();
      });
      unheard = tell(std::move(unheard), line, kTellingHelpersTime, signals_, clock_);
    }
    if (!unheard.empty())
      note(str_cat(unheard.size(), " of the other tasks did not hear of the end; the first is at ",
                   unheard[0]));
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
  Callers callers_;
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
  note(str_cat("can't run '", command[0], "': ", strerror(fault)));
  return fault == ENOENT ? kNoSuchCommand : kCannotRunIt;
}

int attend(const AttendedTask& task, const Clock& clock) { return Attendant(task, clock).run(); }

}  // namespace millrace

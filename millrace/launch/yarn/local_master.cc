#include "millrace/launch/yarn/local_master.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/format/hadoop_credentials.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/line_splitter.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/local_signals.h"
#include "millrace/launch/poll_time.h"
#include "millrace/launch/yarn/errand_lines.h"
#include "millrace/launch/yarn/heartbeat.h"
#include "millrace/launch/yarn/master_socket.h"

namespace millrace {
namespace {

using std::chrono::seconds;

constexpr seconds kMostOfNodeCall{60};
constexpr seconds kLook{1};  // however little happens
constexpr const char* kMasterTokenKind = "YARN_AM_RM_TOKEN";
constexpr int kOfSignal = 128;
constexpr int kOfInterrupted = 130;  // as of exit_code() in job_report.h

// What is asked of a node.
struct NodeCall {
  enum class Kind { start, signal, stop };
  Kind kind;
  std::string container;  // its text
  HadoopLink link;
  Clock::Time due;
};

struct ErrandSocket {
  Descriptor socket;
  LineSplitter lines = {};
  ContainerLaunch launch = {};
  bool has_wanted = false;
};

struct MasterTokens {
  HadoopToken own = {};
  std::string others = {};  // what its containers get: the same without its own
};

Result<MasterTokens> master_tokens(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  if (!file) return failed_precondition("YARN's tokens can't be read: '", path, "'");
  MR_ASSIGN(std::vector<HadoopToken> tokens, parse_credentials(bytes.str()).with(path));
  const auto own = std::ranges::find(tokens, kMasterTokenKind, &HadoopToken::kind);
  if (own != tokens.end()) {
    MasterTokens sorted{.own = std::move(*own)};
    tokens.erase(own);
    if (!tokens.empty()) sorted.others = write_credentials(tokens);
    return sorted;
  }
  return failed_precondition("this is no application master: '", path,
                             "' has no token of the kind ", kMasterTokenKind);
}

// The child's end of the pipe gets the sentence.
[[noreturn]] void become_launcher(const YarnMasterOptions& options, const std::string& master,
                                  const Descriptor& sentence, pid_t parent) {
  setpgid(0, 0);  // what YARN sends to our group comes through us, once
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kOfSignal + SIGKILL);
  const LauncherEnd end = options.launch(master);
  (void)!write(sentence.number(), end.sentence.data(), end.sentence.size());
  std::fflush(nullptr);
  _exit(end.code);
}

class Master {
 public:
  Master(const YarnMasterOptions& options, MasterTokens tokens)
      : options_(options),
        credentials_(std::move(tokens.others)),
        clock_(options.clock),
        heartbeat_({.schedulers = options.schedulers,
                    .host = options.host,
                    .port = options.port,
                    .token = std::move(tokens.own),
                    .clock = options.clock,
                    .random = options.random}) {}

  Result<int> run() {
    while (!heartbeat_.is_registered() && heartbeat_.fault().ok()) turn();
    MR_TRY(heartbeat_.fault());
    MR_TRY(start_launcher());
    while (launcher_ != 0) {
      turn();
      look_after_launcher();
    }
    heartbeat_.finish(final_status(), sentence());
    while (!heartbeat_.has_finished() && heartbeat_.fault().ok()) turn();
    // The job has ended as it did; YARN will call it failed, and here stands why.
    if (!heartbeat_.has_finished() && !is_given_up_)
      std::fprintf(stderr, "millrace: YARN could not be told how the job ended: %s\n",
                   heartbeat_.fault().message().c_str());
    return code_;
  }

 private:
  Status start_launcher() {
    const std::string name =
        str_cat("millrace-yarn-", options_.random.next(), "-", options_.random.next());
    MR_ASSIGN(listener_, listen_as_master(name));
    MR_ASSIGN(Pipe sentence, make_pipe());
    sentence_ = std::move(sentence.read);
    const Descriptor of_child = std::move(sentence.write);
    const pid_t self = getpid();
    const pid_t pid = fork();
    if (pid == 0) become_launcher(options_, name, of_child, self);
    if (pid < 0) return error(Code::resource_exhausted, "no process: ", strerror(errno));
    launcher_ = pid;
    // One for each errand, and for what is asked of its node.
    raise_descriptor_limit();
    signals_.emplace(std::initializer_list<int>{SIGCHLD});
    return {};
  }

  // Waits until something happens, and deals with all that has.
  void turn() {
    events_.clear();
    if (signals_) events_.push_back({signals_->descriptor(), POLLIN, 0});
    if (listener_.is_open()) events_.push_back({listener_.number(), POLLIN, 0});
    if (const auto event = heartbeat_.event()) events_.push_back(*event);
    for (const NodeCall& call : calls_) events_.push_back(call.link.event());
    const size_t first_errand = events_.size();
    for (const auto& [id, errand] : errands_)
      events_.push_back({errand.socket.number(), POLLIN, 0});
    const Clock::Time now = clock_.now();
    const Clock::Time until = std::min(heartbeat_.wake_at(master_), now + kLook);
    poll(events_.data(), events_.size(), poll_milliseconds(until, now));
    heed_signals();
    hear_errands(first_errand);
    accept_errands();
    finish_calls();
    carry_out(heartbeat_.turn(master_));
  }

  void heed_signals() {
    while (signals_) {
      const std::optional<TakenSignal> signal = signals_->take();
      if (!signal) return;
      if (signal->number != SIGCHLD && launcher_ != 0) ::kill(launcher_, SIGTERM);
    }
  }

  void look_after_launcher() {
    if (!heartbeat_.fault().ok() && !is_given_up_) {
      is_given_up_ = true;
      std::fprintf(stderr, "millrace: %s\n", heartbeat_.fault().message().c_str());
      carry_out(master_.on(Abandoned{heartbeat_.fault()}));
    }
    int status = 0;
    if (waitpid(launcher_, &status, WNOHANG) != launcher_) return;
    launcher_ = 0;
    code_ = WIFSIGNALED(status) ? kOfSignal + WTERMSIG(status) : WEXITSTATUS(status);
  }

  FinalStatus final_status() const {
    if (code_ == kOfInterrupted) return FinalStatus::killed;
    return code_ == 0 ? FinalStatus::succeeded : FinalStatus::failed;
  }

  std::string sentence() const {
    if (!heartbeat_.fault().ok()) return heartbeat_.fault().message();
    std::array<char, 4096> bytes;
    const ssize_t size = read(sentence_.number(), bytes.data(), bytes.size());
    if (size > 0) return std::string(bytes.data(), static_cast<size_t>(size));
    return str_cat("the launcher ended with code ", code_, " and without a word");
  }

  void accept_errands() {
    while (listener_.is_open()) {
      Descriptor socket = accept_errand(listener_);
      if (!socket.is_open()) return;
      errands_[next_errand_++] = {.socket = std::move(socket)};
    }
  }

  void hear_errands(size_t event) {
    std::vector<ErrandId> gone;
    for (auto& [id, errand] : errands_) {
      if (events_[event++].revents == 0) continue;
      if (!hear(id, errand)) gone.push_back(id);
    }
    for (const ErrandId id : gone) {
      errands_.erase(id);
      carry_out(master_.on(ErrandGone{id}));
    }
  }

  // False when it is gone.
  bool hear(ErrandId id, ErrandSocket& errand) {
    std::array<char, 16384> bytes;
    const ssize_t size = recv(errand.socket.number(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (size <= 0) return false;
    std::vector<MasterEvent> events;
    bool makes_sense = true;
    errand.lines.feed({bytes.data(), static_cast<size_t>(size)}, [&](std::string_view line) {
      Result<ErrandSays> says = parse_errand(line);
      if (!says.ok()) return void(makes_sense = false);
      if (auto* wanted = std::get_if<ContainerWanted>(&*says)) {
        if (std::exchange(errand.has_wanted, true)) return;
        errand.launch = std::move(wanted->launch);
        errand.launch.resources = options_.resources;
        errand.launch.credentials = credentials_;
        events.push_back(Wanted{id, wanted->wish});
      } else {
        events.push_back(EndWished{id});
      }
    });
    for (const MasterEvent& event : events) carry_out(master_.on(event));
    return makes_sense;
  }

  void carry_out(const std::vector<MasterAction>& actions) {
    for (const MasterAction& action : actions) {
      if (const auto* it = std::get_if<StartContainer>(&action)) start(*it);
      if (const auto* it = std::get_if<SignalContainer>(&action))
        call(NodeCall::Kind::signal, it->container.text, it->node, "signalToContainer",
             signal_request(it->container));
      if (const auto* it = std::get_if<StopContainer>(&action))
        call(NodeCall::Kind::stop, it->container.text, it->node, "stopContainers",
             stop_request(it->container));
      if (const auto* it = std::get_if<TellRuns>(&action))
        tell(it->errand, ContainerRuns{it->container, it->node});
      if (const auto* it = std::get_if<TellEnd>(&action)) tell(it->errand, it->end);
    }
  }

  void start(const StartContainer& action) {
    const auto errand = errands_.find(action.errand);
    if (errand == errands_.end()) return;
    call(NodeCall::Kind::start, action.container.id.text, action.container.node, "startContainers",
         start_request(action.container, errand->second.launch));
  }

  void tell(ErrandId errand, const MasterSays& says) {
    const auto found = errands_.find(errand);
    if (found == errands_.end()) return;
    const std::string line = to_line(says);
    // One that does not read is about to be gone.
    (void)!send(found->second.socket.number(), line.data(), line.size(), MSG_NOSIGNAL);
  }

  void call(NodeCall::Kind kind, const std::string& container, const NodeAddress& node,
            std::string_view method, const std::string& request) {
    const std::optional<HadoopToken> token = heartbeat_.token_of(node);
    if (!token) return answered(kind, container, unavailable("YARN gave no token for ", node.host));
    Result<HadoopLink> link = HadoopLink::connect(
        node.host, node.port, login_with(kContainerProtocol, *token, options_.random));
    if (!link.ok()) return answered(kind, container, link.status());
    link->call(method, request);
    calls_.push_back({kind, container, std::move(*link), clock_.now() + kMostOfNodeCall});
  }

  void finish_calls() {
    for (auto it = calls_.begin(); it != calls_.end();) {
      const auto call = it++;
      const std::optional<Status> end = end_of(*call);
      if (!end) continue;
      const NodeCall done = std::move(*call);
      calls_.erase(call);
      answered(done.kind, done.container, *end);
    }
  }

  // Nothing while the call goes on.
  std::optional<Status> end_of(NodeCall& call) {
    const Result<std::vector<HadoopConnection::Answer>> answers = call.link.turn();
    if (!answers.ok()) return answers.status();
    if (!answers->empty()) {
      const Result<std::string>& body = answers->front().body;
      if (!body.ok()) return body.status();
      return call.kind == NodeCall::Kind::start ? parse_start_answer(*body) : Status();
    }
    if (clock_.now() < call.due) return {};
    return error(Code::deadline_exceeded, "no answer in ", kMostOfNodeCall.count(), " s");
  }

  void answered(NodeCall::Kind kind, const std::string& container, const Status& status) {
    if (kind == NodeCall::Kind::start) carry_out(master_.on(StartAnswered{container, status}));
    if (kind == NodeCall::Kind::signal) carry_out(master_.on(SignalAnswered{container, status}));
  }

  const YarnMasterOptions& options_;
  const std::string credentials_;  // of its containers
  const Clock& clock_;
  Heartbeat heartbeat_;
  ApplicationMaster master_;
  Descriptor listener_;
  Descriptor sentence_;
  std::optional<SignalWatch> signals_;
  std::map<ErrandId, ErrandSocket> errands_;
  ErrandId next_errand_ = 1;
  std::list<NodeCall> calls_;
  std::vector<pollfd> events_;
  pid_t launcher_ = 0;  // 0: not started, or reaped
  int code_ = 0;
  bool is_given_up_ = false;
};

}  // namespace

Result<int> run_application_master(const YarnMasterOptions& options) {
  if (options.credentials_file.empty() || options.schedulers.empty())
    return failed_precondition(
        "this is no container of YARN: submit the job with millrace submit FILE --on yarn");
  MR_ASSIGN(MasterTokens tokens, master_tokens(options.credentials_file));
  return Master(options, std::move(tokens)).run();
}

}  // namespace millrace

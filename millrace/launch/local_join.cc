#include "millrace/launch/local_join.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include "millrace/cluster/host_port.h"
#include "millrace/cluster/task_record.h"
#include "millrace/launch/local_connect.h"
#include "millrace/launch/poll_time.h"

namespace millrace {
namespace {

constexpr size_t kLongestAnswer = 16 << 20;
constexpr Clock::Duration kMostOfLastLife = std::chrono::seconds(5);
constexpr int kBetweenBinds = 100;  // milliseconds

// By what the others find this task, and where it listens for them.
struct OwnHost {
  std::string name;
  std::string listen;
};

// The address of this end of the connection.
OwnHost own_host(const Descriptor& socket, const HostPort& supervisor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  if (getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host.data(), host.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0)
    return {"localhost", "localhost"};
  const std::string numeric = host.data();
  const bool is_loopback = numeric.starts_with("127.") || numeric == "::1";
  const bool is_meant = supervisor.host.starts_with("127.") || supervisor.host == "::1" ||
                        supervisor.host == "localhost";
  if (!is_loopback || is_meant) return {numeric, numeric};
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {"localhost", "localhost"};
  // To itself the machine's name is often a loopback address: there nobody else would get in.
  return {name.data(), numeric == "::1" ? "::" : "0.0.0.0"};
}

Status send_line(const Descriptor& socket, std::string_view line) {
  while (!line.empty()) {
    const ssize_t size = send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("the job's supervisor went away: ", strerror(errno));
    line.remove_prefix(static_cast<size_t>(size));
  }
  return {};
}

std::string waits_for(const TaskName& task, const StillMissing& missing) {
  std::string text = str_cat(short_name(task), " waits for ");
  const char* between = "";
  for (const std::string& other : missing.tasks) {
    str_append(&text, between, other);
    between = ", ";
  }
  if (missing.more > 0) str_append(&text, " and ", missing.more, " more");
  return text;
}

// Lines of the supervisor, each waited for until the deadline.
class Answers {
 public:
  Answers(const Descriptor& socket, int leash, Clock::Time deadline, const Clock& clock)
      : socket_(socket), leash_(leash), deadline_(deadline), clock_(clock) {}

  // From now on for as long as it takes.
  void wait_for_ever() { deadline_ = Clock::Time::max(); }

  Result<ArrivalAnswer> next() {
    for (;;) {
      if (const size_t end = unread_.find('\n'); end != std::string::npos) {
        auto answer = parse_arrival_answer(std::string_view(unread_).substr(0, end));
        unread_.erase(0, end + 1);
        return answer;
      }
      MR_TRY(read_more());
    }
  }

 private:
  Status read_more() {
    std::array<pollfd, 2> events = {pollfd{socket_.number(), POLLIN, 0}, pollfd{leash_, POLLIN, 0}};
    if (poll(events.data(), events.size(), poll_milliseconds(deadline_, clock_.now())) == 0 &&
        clock_.now() >= deadline_)
      return error(Code::deadline_exceeded, "not all tasks of the job have come in time");
    if (events[1].revents != 0) MR_TRY(heed_leash(leash_));
    if (events[0].revents == 0) return {};
    std::array<char, 65536> bytes;
    const ssize_t size = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (size <= 0) return unavailable("the job's supervisor went away");
    unread_.append(bytes.data(), static_cast<size_t>(size));
    if (unread_.size() > kLongestAnswer) return unavailable("the job's supervisor talks nonsense");
    return {};
  }

  const Descriptor& socket_;
  const int leash_;
  Clock::Time deadline_;
  const Clock& clock_;
  std::string unread_;
};

constexpr int kMostPorts = 20;

// The cluster; or where this task has to serve, or not to, and to say so.
Result<std::variant<AllThere, BeThere, TakenAddress>> wait_for_all(Answers& answers,
                                                                   const JoinRequest& request) {
  std::string last;
  for (;;) {
    Result<ArrivalAnswer> answer = answers.next();
    if (!answer.ok()) return answer.status().with(last);
    if (auto* all = std::get_if<AllThere>(&*answer)) return std::move(*all);
    if (auto* there = std::get_if<BeThere>(&*answer)) return std::move(*there);
    if (std::holds_alternative<TakenAddress>(*answer)) return TakenAddress{};
    if (std::holds_alternative<LeavePlace>(*answer))
      return error(Code::aborted, short_name(request.task), " has said where it can be");
    if (const auto* refused = std::get_if<NotWanted>(&*answer))
      return error(Code::failed_precondition, short_name(request.task),
                   " may not join: ", refused->why);
    if (const auto* missing = std::get_if<StillMissing>(&*answer)) {
      last = waits_for(request.task, *missing);
    } else {
      last = str_cat(short_name(request.task), " holds its place until its role has more tasks");
      answers.wait_for_ever();
    }
    if (request.progress) request.progress(last);
  }
}

// The port that the task has served at before, for its next life.
Result<HeldPort> port_again(const TaskName& task, const OwnHost& host, const std::string& known,
                            Clock::Time deadline, const Clock& clock) {
  MR_ASSIGN(const HostPort there, HostPort::parse(known));
  if (there.host != host.name)
    return failed_precondition(short_name(task), " is to come back to ", known,
                               ", where the others look for it, and this is ", host.name);
  // What is left of the life before may just be ending.
  const Clock::Time until = std::min(deadline, clock.now() + kMostOfLastLife);
  for (;;) {
    Result<HeldPort> port = HeldPort::bind(host.listen, there.port);
    const bool is_taken = !port.ok() && port.status().code() == Code::already_exists;
    if (!is_taken || clock.now() >= until)
      return std::move(port).with(str_cat(short_name(task), " is to come back to ", known));
    poll(nullptr, 0, kBetweenBinds);
  }
}

}  // namespace

Result<JoinedTask> join_job(const JoinRequest& request, const Clock& clock) {
  const Clock::Time deadline = clock.now() + request.patience;
  MR_ASSIGN(const HostPort supervisor, HostPort::parse(request.supervisor));
  MR_ASSIGN(Descriptor socket, connect_to(supervisor, deadline, request.leash, clock)
                                   .with("the job's supervisor can't be reached"));
  const OwnHost host =
      request.host.empty() ? own_host(socket, supervisor) : OwnHost{request.host, request.host};
  MR_ASSIGN(HeldPort port, HeldPort::bind(host.listen, 0));
  std::string address = HostPort{host.name, port.port()}.to_string();
  Answers answers(socket, request.leash, deadline, clock);
  for (int tries = 0;; ++tries) {
    MR_TRY(send_line(socket, to_line(Arrival{request.token, request.task, address, request.machine,
                                             request.guests})));
    MR_ASSIGN(auto answer, wait_for_all(answers, request));
    if (auto* all = std::get_if<AllThere>(&answer))
      return JoinedTask{std::move(*all), address, std::move(port), std::move(socket)};
    if (tries == kMostPorts) return unavailable("the job's supervisor talks nonsense");
    if (const auto* there = std::get_if<BeThere>(&answer)) {
      MR_ASSIGN(port, port_again(request.task, host, there->address, deadline, clock));
    } else {
      // While this one is held, another is another.
      MR_ASSIGN(HeldPort other, HeldPort::bind(host.listen, 0));
      port = std::move(other);
    }
    address = HostPort{host.name, port.port()}.to_string();
  }
}

}  // namespace millrace

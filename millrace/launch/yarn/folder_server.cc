#include "millrace/launch/yarn/folder_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/yarn/staged_job.h"

namespace millrace {
namespace {

constexpr int kCallersQueue = 1024;
constexpr size_t kMostOfFile = size_t{1} << 20;   // of one file in an answer
constexpr size_t kLongestRead = size_t{8} << 20;  // of all
constexpr size_t kPieceOfCall = 65'536;
constexpr int kLongestTurn = 60'000;  // milliseconds
constexpr mode_t kForOwner = 0600;

Status said_by_system(std::string_view what) {
  return unavailable(what, ": ", std::strerror(errno));
}

bool would_wait() { return errno == EAGAIN || errno == EINTR; }

// Who has half a file is to hear that it is no whole one: Java takes an early end for the end.
void cut_off(const Descriptor& socket, bool is_within_file) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  if (is_within_file) setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void touch(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kForOwner));
  if (file.is_open()) futimens(file.number(), nullptr);
}

}  // namespace

Result<FolderServer> FolderServer::listen(FolderServerOptions options) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (!socket.is_open() || bind(socket.number(), plain, size) != 0 ||
      ::listen(socket.number(), kCallersQueue) != 0 ||
      getsockname(socket.number(), plain, &size) != 0)
    return said_by_system("the job's folder can't be served");
  return FolderServer(std::move(options), std::move(socket), ntohs(address.sin_port));
}

Result<pid_t> FolderServer::serve_beside() {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return error(Code::resource_exhausted, "no process: ", std::strerror(errno));
  if (pid > 0) {
    listener_.close();
    return pid;
  }
  setpgid(0, 0);  // what asks the job to end is not for this one: it is needed to the end
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  for (;;) turn(kLongestTurn);
}

void FolderServer::turn(int milliseconds) {
  std::vector<pollfd> events = {{listener_.number(), POLLIN, 0}};
  for (const auto& [number, caller] : callers_)
    events.push_back({number, static_cast<short>(caller.is_busy() ? POLLOUT : POLLIN), 0});
  if (poll(events.data(), events.size(), milliseconds) <= 0) return;
  for (size_t i = 1; i < events.size(); ++i) {
    if (events[i].revents == 0) continue;
    const auto caller = callers_.find(events[i].fd);
    Caller& it = caller->second;
    const bool stays = hear(it) && tell(it) && (it.is_busy() || take(it));
    if (stays) continue;
    cut_off(it.socket, it.file.is_open());
    callers_.erase(caller);
  }
  if (events[0].revents != 0) accept_callers();
}

void FolderServer::accept_callers() {
  for (;;) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    // Whoever waits to be accepted would wake this loop for ever where the system has no room.
    const bool has_no_room = socket.is_open() ? callers_.size() >= options_.most_callers
                                              : errno == EMFILE || errno == ENFILE;
    if (has_no_room && !callers_.empty()) {
      const auto silent = std::ranges::min_element(
          callers_, {}, [](const auto& caller) { return caller.second.heard; });
      cut_off(silent->second.socket, silent->second.file.is_open());
      callers_.erase(silent);
    }
    if (!socket.is_open()) return;
    const int number = socket.number();
    callers_.insert_or_assign(number, Caller{.socket = std::move(socket),
                                             .calls = FolderCalls(options_.token, options_.door),
                                             .heard = ++times_heard_});
  }
}

bool FolderServer::hear(Caller& caller) {
  // One that does not take its answers is not asked for more.
  if (caller.is_busy()) return true;
  std::array<char, kPieceOfCall> bytes;
  const ssize_t size = recv(caller.socket.number(), bytes.data(), bytes.size(), 0);
  if (size < 0 && would_wait()) return true;
  if (size <= 0) return false;
  caller.heard = ++times_heard_;
  caller.calls.feed({bytes.data(), static_cast<size_t>(size)});
  return take(caller);
}

bool FolderServer::take(Caller& caller) {
  while (!caller.file.is_open()) {
    const Result<std::optional<FolderCall>> call = caller.calls.next();
    if (!call.ok()) return false;
    if (!*call) break;
    if ((*call)->is_by_door) {
      fetch(caller, **call);
    } else {
      caller.answers += answer(**call);
    }
  }
  if (!caller.calls.is_over()) return true;
  (void)tell(caller);
  return false;
}

void FolderServer::fetch(Caller& caller, const FolderCall& call) const {
  enum : int { kNotThere = 404 };
  Descriptor file;
  struct stat facts {};
  if (may_fetch(call.path))
    file = Descriptor(open(str_cat(options_.sent, call.path).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || fstat(file.number(), &facts) != 0 || !S_ISREG(facts.st_mode)) {
    caller.answers += folder_answer(kNotThere, "");
    return;
  }
  const auto size = static_cast<uint64_t>(facts.st_size);
  caller.answers += file_answer_head(size);
  if (call.method == "HEAD" || size == 0) return;
  caller.file = std::move(file);
  caller.file_at = 0;
  caller.file_left = size;
}

bool FolderServer::tell(Caller& caller) {
  while (!caller.answers.empty()) {
    const ssize_t size =
        send(caller.socket.number(), caller.answers.data(), caller.answers.size(), MSG_NOSIGNAL);
    if (size < 0) return would_wait();
    caller.answers.erase(0, static_cast<size_t>(size));
  }
  return !caller.file.is_open() || tell_file(caller);
}

// A piece: others are to have their turn.
bool FolderServer::tell_file(Caller& caller) {
  const ssize_t size = sendfile(caller.socket.number(), caller.file.number(), &caller.file_at,
                                std::min<uint64_t>(caller.file_left, kMostOfFile));
  if (size < 0) return would_wait();
  if (size == 0) return false;  // it has become shorter
  caller.heard = ++times_heard_;
  caller.file_left -= static_cast<uint64_t>(size);
  if (caller.file_left == 0) caller.file.close();
  return true;
}

std::string FolderServer::answer(const FolderCall& call) const {
  enum : int { kBad = 400, kNotAllowed = 401, kNotThere = 404 };
  if (!is_same_secret(call.token, options_.token))
    return folder_answer(kNotAllowed, "this is not the job's token\n");
  if (call.method == "POST" && call.path == "/read") {
    const Result<std::vector<FilePart>> wanted = parse_wanted(call.body);
    return wanted.ok() ? read(*wanted) : folder_answer(kBad, "");
  }
  if (call.method == "POST" && call.path == "/wishes") {
    // Made by the launcher, if it heeds any.
    const Descriptor file(
        open(wishes_in(options_.folder).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    const auto size = static_cast<ssize_t>(call.body.size());
    const bool is_heard =
        file.is_open() && ::write(file.number(), call.body.data(), call.body.size()) == size;
    return is_heard ? folder_answer(200, "") : folder_answer(kNotThere, "");
  }
  if (call.method == "POST" && call.path == "/taken") {
    touch(str_cat(options_.folder, "/", kTakenFile));
    return folder_answer(200, "");
  }
  if (call.method == "PUT") {
    const Result<FilePart> part = parse_written(call.path);
    if (part.ok() && may_write(part->name)) return write(*part, call.body);
  }
  return folder_answer(kNotThere, "");
}

std::string FolderServer::read(const std::vector<FilePart>& wanted) const {
  FileParts parts;
  size_t left = kLongestRead;
  for (const FilePart& want : wanted) {
    if (!may_read(want.name)) continue;
    // The launcher stays for who takes what is left.
    if (want.name == kLeftFile || want.name.starts_with(kPacksFolder))
      touch(str_cat(options_.folder, "/", kTakingFile));
    const Descriptor file(
        open(str_cat(options_.folder, "/", want.name).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat facts {};
    if (!file.is_open() || fstat(file.number(), &facts) != 0) continue;
    const auto there = static_cast<uint64_t>(facts.st_size);
    if (there <= want.offset) continue;
    const size_t most = std::min({kMostOfFile, left, static_cast<size_t>(there - want.offset)});
    FilePart part{.name = want.name, .offset = want.offset, .bytes = std::string(most, '\0')};
    const ssize_t got =
        pread(file.number(), part.bytes.data(), most, static_cast<off_t>(want.offset));
    part.bytes.resize(got < 0 ? 0 : static_cast<size_t>(got));
    left -= part.bytes.size();
    parts.has_more = parts.has_more || want.offset + part.bytes.size() < there;
    if (!part.bytes.empty()) parts.parts.push_back(std::move(part));
  }
  return folder_answer(200, parts_text(parts));
}

std::string FolderServer::write(const FilePart& part, std::string_view bytes) const {
  enum : int { kGap = 409, kNoRoom = 507 };
  // Who repeats an end may come when all of it has been read and removed.
  const int make = part.offset == 0 ? O_CREAT : 0;
  const Descriptor file(open(str_cat(options_.folder, "/", part.name).c_str(),
                             O_WRONLY | O_CLOEXEC | make, kForOwner));
  struct stat facts {};
  if (!file.is_open() || fstat(file.number(), &facts) != 0 ||
      static_cast<uint64_t>(facts.st_size) < part.offset)
    return folder_answer(kGap, "");
  auto at = static_cast<off_t>(part.offset);
  while (!bytes.empty()) {
    const ssize_t size = pwrite(file.number(), bytes.data(), bytes.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return folder_answer(kNoRoom, "");
    bytes.remove_prefix(static_cast<size_t>(size));
    at += size;
  }
  return folder_answer(200, "");
}

}  // namespace millrace

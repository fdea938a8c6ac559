#include "millrace/launch/shipping/file_server.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_ports.h"
#include "millrace/launch/shared_secret.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

constexpr Clock::Duration kPatienceWithStrangers = std::chrono::seconds(10);
constexpr Clock::Duration kPatienceWithTasks = std::chrono::minutes(2);
constexpr ptrdiff_t kMostStrangers = 256;
constexpr size_t kMostUnread = 65'536;
constexpr size_t kSentAtOnce = size_t{1} << 20;  // of a blob, in one turn
constexpr int kFilesQueue = 1024;

uint64_t bytes_below(const std::string& folder) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code fault;
  for (auto it = fs::recursive_directory_iterator(folder, fault);
       !fault && it != fs::recursive_directory_iterator(); it.increment(fault)) {
    std::error_code gone;
    if (it->is_regular_file(gone)) bytes += it->file_size(gone);
  }
  return bytes;
}

bool would_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Result<std::unique_ptr<FileServer>> FileServer::listen(std::unique_ptr<const BlobShelf> shelf,
                                                       FileServerOptions options) {
  MR_ASSIGN(const HeldPort port, HeldPort::bind(options.host, options.port));
  MR_ASSIGN(Descriptor listener, port.listen(kFilesQueue));
  return std::unique_ptr<FileServer>(
      new FileServer(std::move(shelf), std::move(options), std::move(listener), port.port()));
}

void FileServer::add_descriptors(std::vector<pollfd>& events) const {
  if (!is_crowded() && !is_short_) events.push_back({listener_.number(), POLLIN, 0});
  for (const auto& [number, caller] : callers_) {
    const bool has_something = !caller.unwritten.empty() || caller.blob_left > 0;
    events.push_back({number, static_cast<short>(has_something ? POLLOUT : POLLIN), 0});
  }
}

std::vector<std::string> FileServer::turn(Clock::Time now) {
  accept_all(now);
  for (auto it = callers_.begin(); it != callers_.end();)
    it = serve(it->second, now) ? std::next(it) : callers_.erase(it);
  return std::exchange(notes_, {});
}

bool FileServer::is_crowded() const {
  return std::ranges::count_if(
             callers_, [](const auto& entry) { return !entry.second.is_known; }) >= kMostStrangers;
}

void FileServer::accept_all(Clock::Time now) {
  is_short_ = false;
  while (!is_crowded()) {
    Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      is_short_ = errno == EMFILE || errno == ENFILE;
      return;
    }
    send_at_once(socket);
    const int number = socket.number();
    callers_.emplace(number, Caller{.socket = std::move(socket), .moved = now});
  }
}

bool FileServer::serve(Caller& caller, Clock::Time now) {
  const Clock::Duration patience = caller.is_known ? kPatienceWithTasks : kPatienceWithStrangers;
  if (now > caller.moved + patience) return false;
  const bool was_known = caller.is_known;
  Goes goes = tell(caller);
  if (goes == Goes::on && caller.blob_left > 0) {
    goes = send_blob(caller);
  } else if (goes == Goes::on && !caller.hanging_up) {
    goes = hear(caller);
    while (goes == Goes::on && caller.unwritten.empty() && caller.blob_left == 0 && take(caller))
      continue;
    // Most answers can go at once.
    if (goes == Goes::on && tell(caller) == Goes::away) goes = Goes::away;
  }
  if (goes == Goes::away) return false;
  if (goes == Goes::on && (was_known || caller.is_known)) caller.moved = now;
  return !caller.hanging_up || !caller.unwritten.empty();
}

FileServer::Goes FileServer::tell(Caller& caller) const {
  while (!caller.unwritten.empty()) {
    const ssize_t size = send(caller.socket.number(), caller.unwritten.data(),
                              caller.unwritten.size(), MSG_NOSIGNAL);
    if (size < 0) return would_wait() ? Goes::waits : Goes::away;
    caller.unwritten.erase(0, static_cast<size_t>(size));
  }
  return Goes::on;
}

FileServer::Goes FileServer::send_blob(Caller& caller) const {
  const size_t wanted = std::min<uint64_t>(caller.blob_left, kSentAtOnce);
  const ssize_t size = sendfile(caller.socket.number(), caller.blob, &caller.blob_at, wanted);
  if (size < 0) return would_wait() ? Goes::waits : Goes::away;
  if (size == 0) return Goes::away;
  caller.blob_left -= static_cast<uint64_t>(size);
  return Goes::on;
}

FileServer::Goes FileServer::hear(Caller& caller) const {
  std::array<char, kMostUnread> bytes;
  const ssize_t size =
      recv(caller.socket.number(), bytes.data(), kMostUnread - caller.unread.size(), 0);
  if (size < 0) return would_wait() ? Goes::waits : Goes::away;
  if (size == 0) return Goes::away;
  caller.unread.append(bytes.data(), static_cast<size_t>(size));
  return Goes::on;
}

bool FileServer::take(Caller& caller) {
  if (caller.file) {
    if (caller.unread.empty()) return false;
    take_bytes(caller);
    return true;
  }
  const size_t end = caller.unread.find('\n');
  if (end == std::string::npos && caller.unread.size() <= kLongestFileCall) return false;
  const Result<FileCall> call =
      end == std::string::npos ? Result<FileCall>(invalid("no call for files is so long"))
                               : parse_file_call(std::string_view(caller.unread).substr(0, end));
  caller.unread.erase(0, end == std::string::npos ? end : end + 1);
  if (call.ok()) {
    take_call(caller, *call);
  } else {
    caller.hanging_up = true;
    // Strangers are told nothing.
    if (caller.is_known) caller.unwritten = to_line(CanNotBe{std::string(call.status().message())});
  }
  return !caller.hanging_up;
}

void FileServer::take_bytes(Caller& caller) {
  const size_t size = std::min<uint64_t>(caller.file_left, caller.unread.size());
  if (caller.trouble.empty()) {
    const Status written = write_all(caller.file->number(), caller.unread.substr(0, size));
    // The rest is heard all the same: the caller reads no answer before it has said all.
    if (!written.ok()) caller.trouble = written.message();
  }
  caller.unread.erase(0, size);
  caller.file_left -= size;
  if (caller.file_left > 0) return;
  caller.file.reset();
  caller.hanging_up = !caller.trouble.empty();
  caller.unwritten =
      caller.trouble.empty()
          ? to_line(FileAnswer(IsDone{}))
          : to_line(CanNotBe{str_cat("in '", options_.output_dir, "': ", caller.trouble)});
}

void FileServer::take_call(Caller& caller, const FileCall& call) {
  if (const auto* greeting = std::get_if<FileGreeting>(&call)) {
    caller.is_known = is_same_secret(greeting->token, options_.token);
    caller.hanging_up = !caller.is_known;
    if (!caller.is_known) caller.unwritten = to_line(CanNotBe{"the token is not that of this job"});
    return;
  }
  if (!caller.is_known) {
    caller.hanging_up = true;
    return;
  }
  if (const auto* get = std::get_if<GetBlob>(&call)) begin_blob(caller, get->digest);
  if (const auto* outputs = std::get_if<BeginOutputs>(&call)) begin_outputs(caller, outputs->task);
  if (const auto* output = std::get_if<PutOutput>(&call)) begin_file(caller, *output);
  if (std::holds_alternative<EndOutputs>(call)) end_outputs(caller);
}

void FileServer::begin_blob(Caller& caller, const std::string& digest) {
  const Result<BlobShelf::Blob> blob = shelf_->find(digest);
  if (blob.ok()) {
    caller.unwritten = to_line(BlobFollows{blob->size});
    caller.blob = blob->descriptor;
    caller.blob_at = 0;
    caller.blob_left = blob->size;
    return;
  }
  const std::string why(blob.status().message());
  const bool is_to_come = blob.status().code() == Code::unavailable;
  caller.hanging_up = !is_to_come;
  caller.unwritten = is_to_come ? to_line(NotYet{why}) : to_line(CanNotBe{why});
}

void FileServer::begin_outputs(Caller& caller, const std::string& task) {
  const auto name = options_.collected_as.find(task);
  caller.delivery.reset();
  if (name == options_.collected_as.end()) {
    caller.hanging_up = true;
    caller.unwritten = to_line(CanNotBe{str_cat("no outputs are collected of ", task)});
    return;
  }
  Result<OutputDelivery> delivery =
      OutputDelivery::begin(options_.output_dir, name->second, options_.limits);
  caller.hanging_up = !delivery.ok();
  caller.unwritten = delivery.ok() ? to_line(FileAnswer(IsDone{}))
                                   : to_line(CanNotBe{std::string(delivery.status().message())});
  if (!delivery.ok()) return;
  if (options_.most_kept != 0) num_kept_ = bytes_below(options_.output_dir);
  caller.task = task;
  caller.delivery.emplace(*std::move(delivery));
}

void FileServer::begin_file(Caller& caller, const PutOutput& output) {
  Result<Descriptor> file = invalid("whose output is it?");
  if (options_.most_kept != 0 && num_kept_ + output.size > options_.most_kept) {
    file = error(Code::resource_exhausted, output.size, " bytes more than the ", num_kept_,
                 " of outputs that are kept already; ", options_.most_kept,
                 " are the most of all tasks together");
  } else if (caller.delivery) {
    file = caller.delivery->create(output);
  }
  caller.hanging_up = !file.ok();
  caller.unwritten = file.ok() ? to_line(FileAnswer(GoOn{}))
                               : to_line(CanNotBe{std::string(file.status().message())});
  if (!file.ok()) return;
  if (output.size == 0) {
    caller.unwritten += to_line(FileAnswer(IsDone{}));
    return;
  }
  num_kept_ += output.size;
  caller.file.emplace(*std::move(file));
  caller.file_left = output.size;
  caller.trouble.clear();
}

void FileServer::end_outputs(Caller& caller) {
  const Status published =
      caller.delivery ? caller.delivery->publish() : invalid("whose outputs are they?");
  caller.hanging_up = !published.ok();
  caller.unwritten = published.ok() ? to_line(FileAnswer(IsDone{}))
                                    : to_line(CanNotBe{std::string(published.message())});
  if (published.ok())
    notes_.push_back(
        str_cat(caller.task, ": its outputs are in ", caller.delivery->target(), ": ",
                amount_text(caller.delivery->num_files(), caller.delivery->num_bytes())));
  caller.delivery.reset();
}

}  // namespace millrace

#include "millrace/launch/shipping/file_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <variant>

#include "millrace/base/str_cat.h"
#include "millrace/launch/local_connect.h"
#include "millrace/launch/local_descriptors.h"
#include "millrace/launch/poll_time.h"
#include "millrace/launch/shipping/scratch.h"

namespace millrace {
namespace {

constexpr size_t kPiece = size_t{1} << 18;
constexpr int kMostTries = 4;
constexpr int kBetweenAsks = 500;   // milliseconds, for what is not there yet
constexpr int kBetweenTries = 200;  // milliseconds, and twice as long each time

Status gone() { return unavailable("it went away"); }

}  // namespace

Status FileClient::in_words(const Status& status) const {
  if (status.ok() || status.code() == Code::cancelled) return status;
  return status.with(str_cat(options_.called, " at ", options_.server.to_string()));
}

Status FileClient::connect() {
  if (socket_.is_open()) return {};
  unread_.clear();
  MR_ASSIGN(socket_, connect_to(options_.server, clock_.now() + options_.to_connect, options_.leash,
                                clock_));
  send_at_once(socket_);
  never_block(socket_);
  return say(to_line(FileGreeting{options_.token}));
}

Status FileClient::wait_for(short events) {
  std::array<pollfd, 2> waited = {pollfd{socket_.number(), events, 0},
                                  pollfd{options_.leash, POLLIN, 0}};
  for (;;) {
    const int ready =
        poll(waited.data(), waited.size(), poll_milliseconds(piece_until_, clock_.now()));
    if (ready > 0 && waited[1].revents != 0) MR_TRY(heed_leash(options_.leash));
    if (ready > 0 && waited[0].revents != 0) return {};
    if (clock_.now() >= piece_until_) return unavailable("it is silent");
  }
}

Status FileClient::say(std::string_view bytes) {
  piece_until_ = clock_.now() + options_.patience;
  while (!bytes.empty()) {
    const ssize_t size = send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EAGAIN) {
      MR_TRY(wait_for(POLLOUT));
    } else if (errno != EINTR) {
      return gone();
    }
  }
  return {};
}

Result<size_t> FileClient::read_some(char* bytes, size_t most) {
  for (;;) {
    const ssize_t size = recv(socket_.number(), bytes, most, 0);
    if (size > 0) return static_cast<size_t>(size);
    if (size == 0) return gone();
    if (errno == EAGAIN) {
      MR_TRY(wait_for(POLLIN));
    } else if (errno != EINTR) {
      return gone();
    }
  }
}

Result<FileAnswer> FileClient::answer() {
  piece_until_ = clock_.now() + options_.patience;
  for (;;) {
    if (const size_t end = unread_.find('\n'); end != std::string::npos) {
      Result<FileAnswer> answer = parse_file_answer(std::string_view(unread_).substr(0, end));
      unread_.erase(0, end + 1);
      if (!answer.ok()) return unavailable("it talks nonsense: ", answer.status().message());
      if (const auto* no = std::get_if<CanNotBe>(&*answer)) return failed_precondition(no->why);
      return answer;
    }
    if (unread_.size() > kLongestFileCall) return unavailable("it talks nonsense");
    std::array<char, kLongestFileCall> bytes;
    MR_ASSIGN(const size_t size, read_some(bytes.data(), bytes.size()));
    unread_.append(bytes.data(), size);
  }
}

Status FileClient::get(const std::string& digest, uint64_t most, int to) {
  Status last;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) {
      pollfd leash{options_.leash, POLLIN, 0};
      if (poll(&leash, 1, kBetweenTries << tries) > 0) MR_TRY(heed_leash(options_.leash));
    }
    last = get_once(digest, most, to);
    if (last.ok()) return last;
    socket_.close();
    if (last.code() != Code::unavailable) break;
  }
  return in_words(last);
}

Result<FileAnswer> FileClient::ask_for(const std::string& digest) {
  const Clock::Time deadline = clock_.now() + options_.to_have_it;
  std::string told;
  for (;;) {
    MR_TRY(say(to_line(GetBlob{digest})));
    MR_ASSIGN(FileAnswer answered, answer());
    const auto* later = std::get_if<NotYet>(&answered);
    if (later == nullptr) return answered;
    if (clock_.now() >= deadline)
      return error(Code::deadline_exceeded, "it still has not what is asked for: ", later->why);
    if (options_.progress && told != later->why)
      options_.progress(str_cat("waits for ", options_.called, ": ", later->why));
    told = later->why;
    pollfd leash{options_.leash, POLLIN, 0};
    if (poll(&leash, 1, kBetweenAsks) > 0) MR_TRY(heed_leash(options_.leash));
  }
}

Status FileClient::get_once(const std::string& digest, uint64_t most, int to) {
  if (ftruncate(to, 0) != 0 || lseek(to, 0, SEEK_SET) != 0)
    return error(Code::resource_exhausted, "can't write: ", std::strerror(errno));
  MR_TRY(connect());
  MR_ASSIGN(const FileAnswer told, ask_for(digest));
  const auto* blob = std::get_if<BlobFollows>(&told);
  if (blob == nullptr) return unavailable("it talks nonsense");
  if (blob->size > most)
    return error(Code::data_loss, "it has ", blob->size, " bytes for this, and ", most,
                 " are expected");
  std::string bytes(kPiece, '\0');
  for (uint64_t left = blob->size; left > 0;) {
    piece_until_ = clock_.now() + options_.patience;
    const size_t wanted = std::min<uint64_t>(left, bytes.size());
    size_t had = std::min(unread_.size(), wanted);
    unread_.copy(bytes.data(), had);
    unread_.erase(0, had);
    while (had < wanted) {
      Result<size_t> more = read_some(bytes.data() + had, wanted - had);
      if (!more.ok())
        return more.status().then(
            str_cat(" after ", blob->size - left + had, " of ", blob->size, " bytes"));
      had += *more;
    }
    const Status written = write_all(to, std::string_view(bytes).substr(0, had));
    // Asking again makes no room.
    if (!written.ok()) return error(Code::resource_exhausted, written.message());
    left -= had;
  }
  return {};
}

Status FileClient::expect(bool (*is_it)(const FileAnswer&)) {
  MR_ASSIGN(const FileAnswer told, answer());
  return is_it(told) ? Status() : unavailable("it talks nonsense");
}

namespace {

bool is_done(const FileAnswer& answer) { return std::holds_alternative<IsDone>(answer); }
bool is_go(const FileAnswer& answer) { return std::holds_alternative<GoOn>(answer); }

}  // namespace

Status FileClient::begin_outputs(const std::string& task) {
  socket_.close();
  Status done = connect();
  if (done.ok()) done = say(to_line(BeginOutputs{task}));
  if (done.ok()) done = expect(is_done);
  return in_words(done);
}

Status FileClient::put_output(const PutOutput& output, int from) {
  Status done = say(to_line(output));
  if (done.ok()) done = expect(is_go);
  std::string bytes(kPiece, '\0');
  for (uint64_t left = output.size; done.ok() && left > 0;) {
    const ssize_t size = read(from, bytes.data(), std::min<uint64_t>(left, bytes.size()));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return unavailable("can't read: ", std::strerror(errno));
    if (size == 0) return failed_precondition("it has become shorter while it was brought back");
    done = say(std::string_view(bytes).substr(0, static_cast<size_t>(size)));
    left -= static_cast<uint64_t>(size);
  }
  if (done.ok()) done = expect(is_done);
  return in_words(done);
}

Status FileClient::end_outputs() {
  Status done = say(to_line(FileCall(EndOutputs{})));
  if (done.ok()) done = expect(is_done);
  socket_.close();
  return in_words(done);
}

}  // namespace millrace

#include "millrace/transport/direct/private_line.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "millrace/base/result.h"
#include "millrace/transport/direct/call_terms.h"
#include "millrace/transport/sockets/socket_options.h"

namespace millrace::transport {
namespace {

constexpr std::chrono::microseconds kAWhile = std::chrono::seconds(1);

// Within the time that is left, in milliseconds as poll() has them.
bool becomes(const FileDescriptor& socket, short sign, std::chrono::milliseconds patience) {
  pollfd waited{socket.get(), sign, 0};
  int ready = 0;
  while ((ready = ::poll(&waited, 1, static_cast<int>(patience.count()))) < 0 && errno == EINTR) {
  }
  return ready == 1 && (waited.revents & sign) != 0;
}

bool set_blocking(const FileDescriptor& socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  return flags >= 0 && ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) == 0;
}

bool exchange_greetings(const FileDescriptor& socket, std::chrono::milliseconds patience) {
  if (!becomes(socket, POLLOUT, patience)) return false;
  if (::send(socket.get(), kGreeting.data(), kGreeting.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(kGreeting.size()))
    return false;
  std::array<char, kGreeting.size()> theirs;
  size_t come = 0;
  while (come < theirs.size()) {
    if (!becomes(socket, POLLIN, patience)) return false;
    const ssize_t size = ::recv(socket.get(), theirs.data() + come, theirs.size() - come, 0);
    if (size <= 0) return false;
    come += static_cast<size_t>(size);
  }
  return std::string_view(theirs.data(), theirs.size()) == kGreeting;
}

}  // namespace

// A call whose caller waits. What ends it early hangs up: nobody else uses the line.
class WaitedCall final : public Overseen {
 public:
  WaitedCall(const FileDescriptor& socket, CallTerms terms)
      : socket_(socket), terms_(std::move(terms)) {
    if (terms_.is_overseen()) terms_.pulse->enter(*this);
    if (terms_.cancellation != nullptr)
      registration_ = terms_.cancellation->on_cancel([this](const Status&) { hang_up(); });
  }
  ~WaitedCall() { unwatch(); }

  const CallTerms& terms() const { return terms_; }
  const Peer& peer() const override { return *terms_.peer; }
  void give_up(Clock::Duration silence) override {
    given_up_ = explain_silence(peer(), terms_.method, silence);
    hang_up();
  }
  void unwatch() {
    if (!std::exchange(is_watched_, false)) return;
    if (terms_.is_overseen()) terms_.pulse->leave(*this);
    registration_.release();
  }

  // Why it has no answer; `why` is what the socket said.
  Status broke(const Status& why) {
    unwatch();
    if (!given_up_.ok()) return given_up_;
    if (terms_.cancellation != nullptr && terms_.cancellation->cancelled())
      return terms_.cancellation->reason().as_consequence();
    return why.code() == Code::deadline_exceeded ? terms_.too_late() : terms_.broke(why);
  }

 private:
  void hang_up() const { ::shutdown(socket_.get(), SHUT_RDWR); }

  const FileDescriptor& socket_;
  const CallTerms terms_;
  bool is_watched_ = true;
  Cancellation::Registration registration_;
  Status given_up_;  // written by the pulse, ours once we have left it
};

PrivateLine::PrivateLine(FileDescriptor socket, std::shared_ptr<Intake> intake)
    : socket_(std::move(socket)), inbox_(std::move(intake)) {}

std::unique_ptr<PrivateLine> PrivateLine::connect(const NumericAddress& address,
                                                  std::chrono::milliseconds patience,
                                                  std::shared_ptr<Intake> intake) {
  FileDescriptor socket = begin_to_connect(address);
  if (!socket || !exchange_greetings(socket, patience) || !set_blocking(socket)) return nullptr;
  tune_connection(socket.get());
  return std::unique_ptr<PrivateLine>(new PrivateLine(std::move(socket), std::move(intake)));
}

bool PrivateLine::is_alive() const {
  // Between calls the other side has nothing to say but that it hangs up.
  char unexpected;
  return ::recv(socket_.get(), &unexpected, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

// How long a wait in the socket may take: until the caller has to look up, or a while, or until the
// deadline if that is soon. So it is the same from call to call. False if no time is left.
bool PrivateLine::set_time_limit(const CallTerms& terms, const Clock& clock) {
  using std::chrono::microseconds;
  microseconds most{0};  // for ever
  if (terms.attentive != nullptr) most = AttentiveThread::kLookEvery;
  if (terms.deadline) {
    const auto left = std::chrono::duration_cast<microseconds>(*terms.deadline - clock.now());
    if (left.count() <= 0) return false;
    most = std::min(left, most.count() == 0 ? kAWhile : most);
  }
  if (most == time_limit_) return true;
  time_limit_ = most;
  timeval limit{};
  limit.tv_sec = most.count() / 1'000'000;
  limit.tv_usec = most.count() % 1'000'000;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  return true;
}

namespace {

Status no_time_is_left() { return error(Code::deadline_exceeded, "the deadline passed"); }

}  // namespace

// After the socket has let the thread go without success. OK if it may try again.
Status PrivateLine::look_up(int number, const CallTerms& terms, const Clock& clock) {
  if (number != EINTR && number != EAGAIN && number != EWOULDBLOCK)
    return unavailable(std::strerror(number));
  if (terms.attentive != nullptr) terms.attentive->look_up();
  return set_time_limit(terms, clock) ? Status() : no_time_is_left();
}

Status PrivateLine::write(const CallTerms& terms, const Clock& clock) {
  while (true) {
    const std::span<iovec> parts = outbox_.next();
    if (parts.empty()) return {};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t size = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (size >= 0) {
      outbox_.sent(static_cast<size_t>(size));
    } else {
      MR_TRY(look_up(errno, terms, clock));
    }
  }
}

// As readv() into the inbox, which may have to wait.
ssize_t PrivateLine::read() {
  std::array<iovec, 2> space = inbox_.space();
  msghdr message{};
  message.msg_iov = space.data();
  message.msg_iovlen = space.size();
  ssize_t size = 0;
  const bool is_there = lookout_.finds([&] {
    size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    return size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  });
  if (is_there) return size;
  lookout_.begins_to_sleep();
  size = ::recvmsg(socket_.get(), &message, 0);
  const int number = errno;
  lookout_.has_slept();
  errno = number;
  return size;
}

// The next one that is no question whether we are there.
Result<DirectMessage> PrivateLine::read_message(WaitedCall& call, const Clock& clock) {
  while (true) {
    const ssize_t size = read();
    if (size == 0) return unavailable("Socket closed");
    if (size < 0) {
      MR_TRY(look_up(errno, call.terms(), clock));
      continue;
    }
    messages_.clear();
    MR_TRY(inbox_.took(static_cast<size_t>(size), messages_));
    for (DirectMessage& message : messages_) {
      if (message.kind == FrameKind::ask) {
        outbox_.put(bare_frame(FrameKind::here));
        MR_TRY(write(call.terms(), clock));
      } else if (message.call == num_calls_) {
        return std::move(message);
      }
    }
  }
}

Result<ReceivedBytes> PrivateLine::call(OutgoingRequest request, const Oversight& oversight,
                                        const Clock& clock) {
  WaitedCall call(socket_, CallTerms::of(request, oversight));
  const CallTerms& terms = call.terms();
  is_useless_ = true;  // until the answer is whole
  if (!set_time_limit(terms, clock)) return call.broke(no_time_is_left());
  terms.count_request(request.message.size());
  outbox_.put(request_frame(++num_calls_, terms.method, terms.micros_left(clock.now()),
                            std::move(request.message)));
  if (const Status why = write(terms, clock); !why.ok()) return call.broke(why);
  Result<DirectMessage> answer = read_message(call, clock);
  if (!answer.ok()) return call.broke(answer.status());
  call.unwatch();
  if (answer->kind == FrameKind::error) {
    is_useless_ = false;
    return terms.told(answer->error);
  }
  terms.pulse->heard();
  terms.count_answer(answer->bytes.filled());
  if (answer->more || answer->kind != FrameKind::answer)
    return terms.bad_answer(internal("it is not one message"));
  is_useless_ = false;
  if (!answer->refusal.ok()) return terms.bad_answer(answer->refusal);
  return std::move(answer->bytes);
}

}  // namespace millrace::transport

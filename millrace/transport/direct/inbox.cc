#include "millrace/transport/direct/inbox.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "millrace/base/result.h"

namespace millrace::transport {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
// A body of which so many bytes are still to come is read to where it stays.
constexpr size_t kMinDirect = 4096;
// Errors come in one frame and are small (status_codec.h).
constexpr size_t kMaxErrorBytes = size_t{32} << 10;
// Calls of which part of a message has come.
constexpr size_t kMostPartials = 4096;
static_assert(kFrameHeadBytes + kMaxErrorBytes <= kBufferBytes);

bool has_message(FrameKind kind) { return kind == FrameKind::request || kind == FrameKind::answer; }

// How much of a body has to be there before the frame can begin.
size_t needed(const FrameHead& head) {
  if (head.kind == FrameKind::error) return head.size;
  if (!has_message(head.kind) || (head.flags & frame_flag::kBegins) == 0) return 0;
  return std::min<size_t>(head.size, kMaxMessageHead);
}

Status not_this_protocol(std::string_view what) {
  return invalid("what came over a connection between tasks is not their protocol: ", what);
}

}  // namespace

Inbox::Inbox(std::shared_ptr<Intake> intake)
    : intake_(std::move(intake)), buffer_(new char[kBufferBytes]) {}

// Of the body that is being read, what may be read to where it stays.
size_t Inbox::direct_room() const {
  if (partial_ == nullptr || !partial_->message.refusal.ok() || begin_ != end_) return 0;
  return left_ >= kMinDirect ? left_ : 0;
}

std::array<iovec, 2> Inbox::space() {
  const size_t direct = direct_room();
  char* const stays = direct > 0 ? partial_->message.bytes.next() : nullptr;
  return {iovec{stays, direct}, iovec{buffer_.get() + end_, kBufferBytes - end_}};
}

Status Inbox::took(size_t size, std::vector<DirectMessage>& messages) {
  if (const size_t direct = std::min(direct_room(), size); direct > 0) {
    if (!partial_->message.bytes.fill(direct)) refuse(*partial_, partial_->message.bytes.size());
    partial_->left -= direct;
    left_ -= direct;
    size -= direct;
    if (left_ == 0) MR_TRY(end_frame(messages));
  }
  end_ += size;
  MR_TRY(parse(messages));
  // What is left is less than a head, or the little of an error that has come.
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {};
}

Status Inbox::parse(std::vector<DirectMessage>& messages) {
  while (true) {
    if (left_ > 0) {
      copy_body();
      if (left_ > 0) return {};
      MR_TRY(end_frame(messages));
      continue;
    }
    const std::string_view there(buffer_.get() + begin_, end_ - begin_);
    if (there.size() < kFrameHeadBytes) return {};
    FrameHead head;
    if (!read_frame_head(there, head)) return not_this_protocol("no head of a frame");
    if (head.kind == FrameKind::error && head.size > kMaxErrorBytes)
      return not_this_protocol(str_cat("an error of ", head.size, " bytes"));
    const size_t size = needed(head);
    if (there.size() < kFrameHeadBytes + size) return {};
    MR_TRY(begin_frame(head, there.substr(kFrameHeadBytes, size), messages));
  }
}

Status Inbox::begin_frame(const FrameHead& head, std::string_view body,
                          std::vector<DirectMessage>& messages) {
  begin_ += kFrameHeadBytes;
  if (!has_message(head.kind)) {
    DirectMessage message;
    message.kind = head.kind;
    message.call = head.call;
    begin_ += body.size();
    if (head.kind != FrameKind::error) {
      if (head.size != 0) return not_this_protocol("a body where none belongs");
    } else if (!read_status(body, message.error)) {
      return not_this_protocol("no error in a frame of one");
    }
    messages.push_back(std::move(message));
    return {};
  }
  size_t used = 0;
  if ((head.flags & frame_flag::kBegins) != 0) MR_TRY(begin_message(head, body, used));
  const auto found = partials_.find(head.call);
  if (found == partials_.end() || found->second->message.kind != head.kind)
    return not_this_protocol("a message without a beginning");
  begin_ += used;
  frame_ = head;
  left_ = head.size - used;
  partial_ = found->second.get();
  if (left_ > partial_->left) return not_this_protocol("a message longer than it said");
  return left_ == 0 ? end_frame(messages) : Status();
}

Status Inbox::begin_message(const FrameHead& head, std::string_view body, size_t& used) {
  auto partial = std::make_unique<Partial>();
  DirectMessage& message = partial->message;
  message.kind = head.kind;
  message.call = head.call;
  message.more = (head.flags & frame_flag::kMore) != 0;
  if (head.kind == FrameKind::request) {
    RequestHead request;
    if (!read_request_head(body, request, used)) return not_this_protocol("no head of a request");
    message.method = request.method;
    message.deadline_micros = request.deadline_micros;
    partial->left = request.message_bytes;
  } else if (!read_answer_head(body, partial->left, used)) {
    return not_this_protocol("no head of an answer");
  }
  if (partials_.size() >= kMostPartials)
    return not_this_protocol(str_cat("more than ", kMostPartials, " messages that have begun"));
  const uint64_t size = partial->left;
  std::unique_ptr<char[]> room;
  if (size <= static_cast<uint64_t>(intake_->limits().one_message))
    room = ReceivedBytes::room_for(size);
  if (room != nullptr) {
    message.bytes = ReceivedBytes(intake_, std::move(room), size);
  } else {
    refuse(*partial, size);
  }
  if (!partials_.emplace(head.call, std::move(partial)).second)
    return not_this_protocol("a call that begins twice");
  return {};
}

void Inbox::refuse(Partial& partial, uint64_t size) {
  partial.message.refusal =
      error(Code::resource_exhausted, "a message of ", size,
            " bytes was not received: one may have ", intake_->limits().one_message,
            " bytes here, and all that are being read together ", intake_->limits().all);
  partial.message.bytes.drop();
}

void Inbox::copy_body() {
  const size_t size = std::min(left_, end_ - begin_);
  DirectMessage& message = partial_->message;
  if (message.refusal.ok() && size > 0) {
    // Counted first: what there is no room for is skipped.
    char* const to = message.bytes.next();
    if (message.bytes.fill(size)) {
      std::memcpy(to, buffer_.get() + begin_, size);
    } else {
      refuse(*partial_, message.bytes.size());
    }
  }
  partial_->left -= size;
  begin_ += size;
  left_ -= size;
}

Status Inbox::end_frame(std::vector<DirectMessage>& messages) {
  Partial* const partial = std::exchange(partial_, nullptr);
  if ((frame_.flags & frame_flag::kEnds) == 0) return {};
  if (partial->left > 0) return not_this_protocol("a message shorter than it said");
  intake_->count_message();
  messages.push_back(std::move(partial->message));
  partials_.erase(frame_.call);
  return {};
}

}  // namespace millrace::transport

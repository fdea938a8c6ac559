#include "millrace/transport/direct/outbox.h"

#include <algorithm>
#include <utility>

namespace millrace::transport {
namespace {

// What is given to the system at once.
constexpr size_t kMaxParts = 64;
constexpr size_t kMaxBytes = size_t{1} << 20;
// A frame's head, and the head of its message.
constexpr size_t kHeadParts = 2;

iovec part_of(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

}  // namespace

DirectOutgoing request_frame(uint32_t call, std::string_view method, uint64_t deadline_micros,
                             wire::Pieces message) {
  std::string head = to_bytes(RequestHead{
      .message_bytes = message.size(), .deadline_micros = deadline_micros, .method = method});
  return {.kind = FrameKind::request,
          .call = call,
          .head = std::move(head),
          .message = std::move(message)};
}

DirectOutgoing answer_frame(uint32_t call, wire::Pieces message, bool more) {
  std::string head = answer_head(message.size());
  return {.kind = FrameKind::answer,
          .call = call,
          .more = more,
          .head = std::move(head),
          .message = std::move(message)};
}

DirectOutgoing error_frame(uint32_t call, const Status& status) {
  return {.kind = FrameKind::error, .call = call, .head = to_body(to_wire_status(status))};
}

DirectOutgoing bare_frame(FrameKind kind, uint32_t call) { return {.kind = kind, .call = call}; }

struct Outbox::Entry {
  explicit Entry(DirectOutgoing message)
      : kind(message.kind),
        call(message.call),
        more(message.more),
        head(std::move(message.head)),
        left(message.message.size()),
        pieces(std::move(message.message).pieces()) {}

  const FrameKind kind;
  const uint32_t call;
  const bool more;
  const std::string head;
  bool has_begun = false;
  size_t left;  // bytes of the message that are in no frame yet
  const std::vector<wire::Piece> pieces;
  size_t piece = 0;   // the one that is next
  size_t offset = 0;  // what of it has gone
  FrameHeadBytes frame_head{};
};

Outbox::Outbox() = default;
Outbox::~Outbox() = default;

void Outbox::put(DirectOutgoing message) {
  queue_.push_back(std::make_unique<Entry>(std::move(message)));
}

std::span<iovec> Outbox::next() {
  if (unwritten_.empty() && !queue_.empty()) compose();
  return unwritten_;
}

// One frame of each of those that wait longest, until it is much.
void Outbox::compose() {
  parts_.clear();
  // Spans of a vector that grew would point nowhere.
  parts_.reserve(kMaxParts);
  size_t bytes = 0;
  while (!queue_.empty() && bytes < kMaxBytes && parts_.size() + kHeadParts < kMaxParts) {
    in_flight_.push_back(std::move(queue_.front()));
    queue_.pop_front();
    bytes += add_frame(*in_flight_.back());
  }
  unwritten_ = parts_;
}

size_t Outbox::add_frame(Entry& entry) {
  const bool begins = !std::exchange(entry.has_begun, true);
  const size_t head_part = parts_.size();
  parts_.push_back(part_of({entry.frame_head.data(), entry.frame_head.size()}));
  size_t size = 0;
  if (begins && !entry.head.empty()) {
    parts_.push_back(part_of(entry.head));
    size += entry.head.size();
  }
  size_t room = kFrameBytes;
  while (entry.left > 0 && room > 0 && parts_.size() < kMaxParts) {
    std::string_view bytes = entry.pieces[entry.piece].view();
    bytes = bytes.substr(entry.offset, room);
    if (!bytes.empty()) parts_.push_back(part_of(bytes));
    size += bytes.size();
    room -= bytes.size();
    entry.left -= bytes.size();
    entry.offset += bytes.size();
    if (entry.offset < entry.pieces[entry.piece].view().size()) continue;
    ++entry.piece;
    entry.offset = 0;
  }
  uint8_t flags = 0;
  if (begins) flags |= frame_flag::kBegins;
  if (entry.left == 0) flags |= frame_flag::kEnds;
  if (entry.more) flags |= frame_flag::kMore;
  entry.frame_head = to_bytes(FrameHead{
      .size = static_cast<uint32_t>(size), .call = entry.call, .kind = entry.kind, .flags = flags});
  return size + parts_[head_part].iov_len;
}

void Outbox::sent(size_t bytes) {
  while (bytes > 0) {
    iovec& first = unwritten_.front();
    const size_t size = std::min(bytes, first.iov_len);
    first.iov_base = static_cast<char*>(first.iov_base) + size;
    first.iov_len -= size;
    bytes -= size;
    if (first.iov_len == 0) unwritten_ = unwritten_.subspan(1);
  }
  if (!unwritten_.empty()) return;
  for (auto& entry : in_flight_)
    if (entry->left > 0) queue_.push_back(std::move(entry));
  in_flight_.clear();
}

void Outbox::clear() {
  queue_.clear();
  in_flight_.clear();
  unwritten_ = {};
}

}  // namespace millrace::transport

#include "millrace/format/pieces.h"

namespace millrace::wire {
namespace {

// A piece longer than this is not grown further: growing would copy it.
constexpr size_t kMaxGathered = 16 << 10;

}  // namespace

std::string& Pieces::tail() {
  if (pieces_.empty() || pieces_.back().buffer != nullptr ||
      pieces_.back().bytes.size() >= kMaxGathered)
    pieces_.emplace_back();
  return pieces_.back().bytes;
}

void Pieces::append(std::string_view bytes) {
  if (bytes.empty()) return;
  tail().append(bytes);
  size_ += bytes.size();
}

void Pieces::append(std::string&& bytes) {
  if (bytes.size() < kMinSharedBytes) return append(std::string_view(bytes));
  size_ += bytes.size();
  pieces_.push_back({std::move(bytes), nullptr, {}});
}

void Pieces::append_shared(std::shared_ptr<Buffer> buffer, std::string_view bytes) {
  size_ += bytes.size();
  pieces_.push_back({{}, std::move(buffer), bytes});
}

std::string Pieces::join() const {
  std::string all;
  all.reserve(size_);
  for (const Piece& piece : pieces_) all += piece.view();
  return all;
}

}  // namespace millrace::wire

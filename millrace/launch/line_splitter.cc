#include "millrace/launch/line_splitter.h"

#include <algorithm>

namespace millrace {

void LineSplitter::feed(std::string_view bytes, const Sink& sink) {
  while (!bytes.empty()) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    size_t room = kLongestLine - partial_.size();
    size_t end = bytes.substr(0, room).find_first_of("\r\n");
    bool ended = end != std::string_view::npos;
    size_t length = ended ? end : std::min(room, bytes.size());
    std::string_view piece = bytes.substr(0, length);
    after_return_ = ended && bytes[end] == '\r';
    bytes.remove_prefix(ended ? length + 1 : length);
    if (!ended && partial_.size() + length < kLongestLine) {
      partial_ += piece;
    } else if (partial_.empty()) {
      sink(piece);
    } else {
      partial_ += piece;
      sink(partial_);
      partial_.clear();
    }
  }
}

void LineSplitter::finish(const Sink& sink) {
  if (!partial_.empty()) sink(partial_);
  partial_.clear();
  after_return_ = false;
}

}  // namespace millrace

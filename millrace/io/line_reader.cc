#include "millrace/io/line_reader.h"

#include <algorithm>

namespace millrace::io {

Result<bool> LineReader::refill() {
  constexpr size_t kPiece = 256 << 10;
  offset_ += bytes_.size();
  at_ = 0;
  bytes_.resize(kPiece);
  MR_ASSIGN(const size_t some, source_->read(bytes_));
  bytes_.resize(some);
  return some > 0;
}

Result<bool> LineReader::next(std::string* line) {
  line->clear();
  for (bool has_begun = false;; has_begun = true) {
    if (at_ == bytes_.size()) {
      MR_ASSIGN(const bool has_more, refill());
      if (!has_more) {
        std::erase(*line, '\r');
        return has_begun;
      }
    }
    const size_t end = std::min(bytes_.find('\n', at_), bytes_.size());
    if (line->size() + (end - at_) > kLongestLine)
      return invalid("the line that begins before byte ", offset(), " is longer than ",
                     kLongestLine, " bytes");
    line->append(bytes_, at_, end - at_);
    const bool is_whole = end < bytes_.size();
    at_ = end + (is_whole ? 1 : 0);
    if (!is_whole) continue;
    std::erase(*line, '\r');
    return true;
  }
}

}  // namespace millrace::io

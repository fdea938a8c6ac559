#include "millrace/io/line_reader.h"

#include <algorithm>

namespace millrace::io {

Result<bool> LineReader::next(std::string* line) {
  line->clear();
  for (bool has_begun = false;; has_begun = true) {
    MR_ASSIGN(const std::string_view there, source_->look());
    if (there.empty()) {
      std::erase(*line, '\r');
      return has_begun;
    }
    const size_t end = std::min(there.find('\n'), there.size());
    if (line->size() + end > kLongestLine)
      return invalid("the line that begins before byte ", offset_, " is longer than ", kLongestLine,
                     " bytes");
    line->append(there.substr(0, end));
    const bool is_whole = end < there.size();
    const size_t taken = end + (is_whole ? 1 : 0);
    source_->take(taken);
    offset_ += taken;
    if (!is_whole) continue;
    std::erase(*line, '\r');
    return true;
  }
}

}  // namespace millrace::io

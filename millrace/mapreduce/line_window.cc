#include "millrace/mapreduce/line_window.h"

#include <algorithm>
#include <cstring>

namespace millrace::mapreduce {

namespace {

constexpr size_t kNone = ~size_t{0};
constexpr size_t kShownOfLong = 1000;  // bytes of a line that is too long

}  // namespace

LineWindow::LineWindow(const ReadableFile& file, uint64_t begin, uint64_t end, uint64_t longest,
                       size_t window)
    : file_(file), begin_(begin), end_(end), longest_(longest), step_(std::max<size_t>(window, 1)) {
  offset_ = begin_ == 0 ? 0 : begin_ - 1;
}

Status LineWindow::find_first() {
  is_begun_ = true;
  // The byte before tells: if it ends a line, one begins here. Of a line that goes on for gigabytes
  // each range reads its own part.
  if (begin_ != 0) MR_TRY(skip_line(end_));
  return {};
}

size_t LineWindow::end_of_line() const {
  if (scanned_ == size_) return kNone;
  const void* const found = std::memchr(held_.data() + scanned_, '\n', size_ - scanned_);
  return found == nullptr ? kNone
                          : static_cast<size_t>(static_cast<const char*>(found) - held_.data());
}

Result<bool> LineWindow::read_more() {
  if (is_at_end_) return false;
  if (at_ != 0) {
    std::memmove(held_.data(), held_.data() + at_, size_ - at_);
    offset_ += at_;
    size_ -= at_;
    scanned_ -= at_;
    at_ = 0;
  }
  if (held_.size() - size_ < step_) held_.resize(std::max(size_ + step_, 2 * size_));
  MR_ASSIGN(const size_t some, file_.read(offset_ + size_, {held_.data() + size_, step_}));
  size_ += some;
  is_at_end_ = some < step_;
  return some != 0;
}

Result<uint64_t> LineWindow::skip_line(uint64_t until) {
  uint64_t skipped = 0;
  for (;;) {
    const size_t found = end_of_line();
    if (found != kNone) {
      skipped += found - at_;
      at_ = scanned_ = found + 1;
      return skipped;
    }
    skipped += size_ - at_;
    at_ = scanned_ = size_;
    if (position() >= until) return skipped;
    MR_ASSIGN(const bool is_more, read_more());
    if (!is_more) return skipped;
  }
}

Result<bool> LineWindow::next(Line* line) {
  if (!is_begun_) MR_TRY(find_first());
  if (position() >= end_) return false;
  size_t found = end_of_line();
  bool is_last = false;
  while (found == kNone && size_ - at_ <= longest_) {
    scanned_ = size_;
    MR_ASSIGN(const bool is_more, read_more());
    if (!is_more) {
      if (at_ == size_) return false;
      is_last = true;
      found = size_;
      break;
    }
    found = end_of_line();
  }
  line->position = position();
  line->is_too_long = found == kNone || found - at_ > longest_;
  if (!line->is_too_long) {
    line->size = found - at_;
    line->text = {held_.data() + at_, found - at_};
    if (line->text.ends_with('\r') && !is_last) line->text.remove_suffix(1);
    at_ = scanned_ = is_last ? size_ : found + 1;
    return true;
  }
  // What is shown of it goes where the line itself would be; the rest is not held.
  const size_t shown = std::min({kShownOfLong, size_ - at_, static_cast<size_t>(longest_)});
  std::vector<char> front(held_.data() + at_, held_.data() + at_ + shown);
  MR_ASSIGN(line->size, skip_line(~uint64_t{0}));
  front_ = std::move(front);
  line->text = {front_.data(), front_.size()};
  return true;
}

}  // namespace millrace::mapreduce

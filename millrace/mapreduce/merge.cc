#include "millrace/mapreduce/merge.h"

#include <algorithm>
#include <utility>

#include "millrace/mapreduce/run_writer.h"

namespace millrace::mapreduce {

Result<Merge> Merge::of(Files& files, std::vector<Segment> segments, const std::string& folder,
                        size_t fan_in) {
  std::erase_if(segments, [](const Segment& segment) { return segment.length == 0; });
  for (int round = 0; segments.size() > fan_in; ++round) {
    std::vector<Segment> merged;
    MR_ASSIGN(RunWriter writer, RunWriter::create(files, str_cat(folder, "/merged-", round)));
    for (size_t begin = 0; begin < segments.size(); begin += fan_in) {
      const size_t count = std::min(fan_in, segments.size() - begin);
      const auto first = segments.begin() + static_cast<std::ptrdiff_t>(begin);
      MR_ASSIGN(Merge group, of_open(files, {first, first + static_cast<std::ptrdiff_t>(count)}));
      for (;;) {
        MR_ASSIGN(const bool is_one, group.next());
        if (!is_one) break;
        MR_TRY(writer.add(group.key(), group.value()));
      }
      MR_ASSIGN(Segment segment, writer.end_segment());
      merged.push_back(std::move(segment));
    }
    MR_TRY(writer.close());
    segments = std::move(merged);
  }
  return of_open(files, segments);
}

Result<Merge> Merge::of_open(Files& files, const std::vector<Segment>& segments) {
  Merge made;
  made.cursors_.reserve(segments.size());
  for (const Segment& segment : segments) {
    MR_ASSIGN(RunReader reader, RunReader::open(files, segment));
    made.cursors_.push_back({std::move(reader)});
  }
  return made;
}

bool Merge::is_before(uint32_t a, uint32_t b) const {
  const Cursor &left = cursors_[a], &right = cursors_[b];
  if (left.prefix != right.prefix) return left.prefix < right.prefix;
  const int order = left.reader.key().compare(right.reader.key());
  return order != 0 ? order < 0 : a < b;
}

void Merge::sift_down(size_t at) {
  const uint32_t moved = heap_[at];
  for (size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && is_before(heap_[child + 1], heap_[child])) ++child;
    if (!is_before(heap_[child], moved)) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = moved;
}

Result<bool> Merge::next() {
  const auto advance = [this](uint32_t index) -> Result<bool> {
    Cursor& cursor = cursors_[index];
    MR_ASSIGN(const bool is_one, cursor.reader.next());
    if (is_one) cursor.prefix = prefix_of(cursor.reader.key());
    return is_one;
  };
  if (!is_begun_) {
    is_begun_ = true;
    for (uint32_t index = 0; index < cursors_.size(); ++index) {
      MR_ASSIGN(const bool is_one, advance(index));
      if (is_one) heap_.push_back(index);
    }
    for (size_t at = heap_.size() / 2; at-- > 0;) sift_down(at);
    return !heap_.empty();
  }
  if (heap_.empty()) return false;
  MR_ASSIGN(const bool is_one, advance(heap_.front()));
  if (!is_one) {
    heap_.front() = heap_.back();
    heap_.pop_back();
  }
  if (heap_.empty()) return false;
  sift_down(0);
  return true;
}

bool MergedValues::next(std::string_view* value) {
  if (at_ == At::over) return false;
  if (at_ == At::given) {
    const Result<bool> moved = merge_.next();
    status_ = moved.status();
    is_more_ = moved.ok() && *moved;
    if (!is_more_ || merge_.key() != key_) {
      at_ = At::over;
      return false;
    }
  }
  at_ = At::given;
  *value = merge_.value();
  return true;
}

Result<bool> MergedValues::finish() {
  std::string_view ignored;
  while (next(&ignored)) {
  }
  MR_TRY(status_);
  return is_more_;
}

}  // namespace millrace::mapreduce

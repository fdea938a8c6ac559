// Merge: the pairs of several sorted segments in the order of keys; those of equal keys in the
// order of segments, and there as they are. A block of each in memory. One thread; waits for the
// disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/functions.h"
#include "millrace/mapreduce/run_reader.h"

namespace millrace::mapreduce {

// The first eight bytes of a text as a number in whose order texts are that differ in them.
inline uint64_t prefix_of(std::string_view text) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
  return prefix;
}

inline constexpr size_t kFanIn = 64;  // so many files are open at a time

class Merge {
 public:
  // Of more segments than `fan_in` (at least 2), that many at a time are merged into files
  // "merged-..." in `folder` first, in rounds. Errors of all: those of RunReader and RunWriter.
  static Result<Merge> of(Files& files, std::vector<Segment> segments, const std::string& folder,
                          size_t fan_in = kFanIn);

  // Goes to the next pair, the first one to begin with; false at the end.
  Result<bool> next();
  std::string_view key() const { return front().reader.key(); }
  std::string_view value() const { return front().reader.value(); }

 private:
  struct Cursor {
    RunReader reader;
    uint64_t prefix = 0;
  };

  static Result<Merge> of_open(Files& files, const std::vector<Segment>& segments);
  const Cursor& front() const { return cursors_[heap_.front()]; }
  // Whether cursor `a` comes before cursor `b`.
  bool is_before(uint32_t a, uint32_t b) const;
  void sift_down(size_t at);

  std::vector<Cursor> cursors_;
  std::vector<uint32_t> heap_;  // of those that have a pair
  bool is_begun_ = false;
};

// The values of the key at hand, and then the merge stands at the next one.
class MergedValues final : public Values {
 public:
  // `merge` stands at a pair.
  explicit MergedValues(Merge& merge) : merge_(merge), key_(merge.key()) {}
  const std::string& key() const { return key_; }
  bool next(std::string_view* value) override;
  // Goes behind what was not asked for. False if there are no more keys; errors of the merge.
  Result<bool> finish();

 private:
  Merge& merge_;
  const std::string key_;
  enum class At : uint8_t { fresh, given, over } at_ = At::fresh;
  bool is_more_ = true;
  Status status_;
};

}  // namespace millrace::mapreduce

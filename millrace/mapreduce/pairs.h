// Pairs: what a mapper gives for one record, and what it can ask of it.
//
//   void words(std::string_view line, mapreduce::Pairs& pairs) {
//     for (std::string_view word : mapreduce::words_of(line)) pairs.add(word, 1);
//   }
//
// Kept until the mapper is through with the record: if it fails, nothing of it counts. Keys and
// values that lie in the record are not copied. Belongs to one call of a mapper.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/arena.h"
#include "millrace/mapreduce/place.h"

namespace millrace::mapreduce {

struct Pair {
  std::string_view key, value;
  int64_t number = 0;
  bool is_number = false;  // `number` is the value
};

class Pairs {
 public:
  // Gives a pair. Any bytes; no longer than the longest entry of a run (run_format.h).
  void add(std::string_view key, std::string_view value) {
    pairs_.push_back({.key = kept(key), .value = kept(value)});
  }
  // A pair whose value is a number: what sum() adds up, for others its decimal digits.
  void add(std::string_view key, int64_t number) {
    pairs_.push_back({.key = kept(key), .number = number, .is_number = true});
  }
  // Adds to a counter of the job. What attempts count that fail does not count.
  void count(std::string_view counter, int64_t by = 1) { add_count(&counted_, counter, by); }
  // Where the record is from.
  const Place& place() const { return place_; }

  // For whoever calls mappers: forgets what was given, and goes on with this record, which lives
  // until the next begin().
  void begin(const Place& place, std::string_view record);
  std::span<const Pair> given() const { return pairs_; }
  const Counters& counted() const { return counted_; }

 private:
  std::string_view kept(std::string_view text) {
    if (reinterpret_cast<uintptr_t>(text.data()) >= begin_ &&
        reinterpret_cast<uintptr_t>(text.data()) + text.size() <= end_)
      return text;
    has_copies_ = true;
    return copies_.add(text);
  }

  Place place_;
  uintptr_t begin_ = 0, end_ = 0;  // of the record
  std::vector<Pair> pairs_;
  bool has_copies_ = false;
  Arena copies_{4 << 10};
  Counters counted_;
};

}  // namespace millrace::mapreduce

// Gathering: what a mapper gives of one split, within a bound of memory: beyond it, sorted runs go
// to disk. One thread; waits for the disk.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "millrace/mapreduce/merge.h"
#include "millrace/mapreduce/pair_store.h"

namespace millrace::mapreduce {

class Gathering {
 public:
  struct Terms {
    Files& files;
    const Combiner& combiner;
    const Partitions& partitions;
    size_t memory;       // bytes
    std::string folder;  // where runs go that don't fit; exists, and is its own
  };
  // All that terms refer to outlives it.
  explicit Gathering(Terms terms);

  // `record`: where keys may lie. Errors: those of PairStore, and of the disk.
  Status add(std::span<const Pair> pairs, std::string_view record = {});
  // Writes all into a new file; a segment for each partition. Errors: likewise.
  Result<std::vector<Segment>> write(const std::string& path);

  int num_spills() const { return static_cast<int>(spills_.size()); }

 private:
  Result<std::vector<Segment>> write_store(const std::string& path);
  Status spill();
  // Writes what spills have of one partition, in order, combined.
  Status write_merged(size_t part, RunWriter& writer);

  const Terms terms_;
  const std::unique_ptr<PairStore> store_;
  std::vector<std::vector<Segment>> spills_;  // per spill, a segment for each partition
};

// The value that a combiner makes of all values of a key. Errors: those of the combiner, of the
// merge.
Result<std::string> combined(const Combiner& combiner, MergedValues& values);

}  // namespace millrace::mapreduce

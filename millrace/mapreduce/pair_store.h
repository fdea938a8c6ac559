// PairStore: pairs of one split in memory, until they are written as sorted segments, one for each
// partition. Without a combiner, as a list; with one, a total for each key. Belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "millrace/mapreduce/functions.h"
#include "millrace/mapreduce/pairs.h"
#include "millrace/mapreduce/run_writer.h"

namespace millrace::mapreduce {

// Which partition keys belong to, by the job's function or by part_of().
class Partitions {
 public:
  // `own` may be empty; it outlives this.
  Partitions(int count, const Partitioner& own) : count_(count), own_(own) {}
  int count() const { return count_; }
  // Errors: OUT_OF_RANGE for what the job's function gives; UNKNOWN for what it throws.
  Result<int> of(std::string_view key) const;

 private:
  const int count_;
  const Partitioner& own_;
};

class PairStore {
 public:
  virtual ~PairStore() = default;
  // Takes pairs, from the first on, while its memory lasts; how many. One that is empty takes one
  // at least. Keys that lie in `record` are read the faster for it. Errors: those of the combiner
  // and of Partitions.
  virtual Result<size_t> add(std::span<const Pair> pairs, std::string_view record) = 0;
  // How much memory one more pair, of few bytes, could bring it to, at most.
  virtual size_t bytes_grown() const = 0;
  virtual bool empty() const = 0;
  // Writes all, and forgets it: a segment for each partition, in their order. Errors: those of
  // Partitions and of the writer.
  virtual Result<std::vector<Segment>> write(RunWriter& writer) = 0;
};

// One that stays within `memory` bytes by its own estimate, but for a pair that has more. All are
// referred to.
std::unique_ptr<PairStore> make_pair_store(const Combiner& combiner, const Partitions& partitions,
                                           size_t memory);

}  // namespace millrace::mapreduce

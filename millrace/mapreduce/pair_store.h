// PairStore: pairs of one split in memory, until they are written as sorted segments, one for each
// partition. Without a combiner, as a list; with one, a total for each key. Belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
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
  // Errors: those of the combiner and of Partitions.
  virtual Status add(const Pair& pair) = 0;
  // How much memory one more pair, of few bytes, could bring it to, at most.
  virtual size_t bytes_grown() const = 0;
  virtual bool empty() const = 0;
  // Writes all, and forgets it: a segment for each partition, in their order. Errors: those of
  // Partitions and of the writer.
  virtual Result<std::vector<Segment>> write(RunWriter& writer) = 0;
};

// One that is to stay within `memory` bytes, roughly, if it is written when it would grow beyond.
// All are referred to.
std::unique_ptr<PairStore> make_pair_store(const Combiner& combiner, const Partitions& partitions,
                                           size_t memory);

}  // namespace millrace::mapreduce

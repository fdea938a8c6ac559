// Job: MapReduce as a program says it. run.h makes one.
//
//   void words(std::string_view line, mapreduce::Pairs& pairs) {
//     for (std::string_view word : mapreduce::words_of(line)) pairs.add(word, 1);
//   }
//   ... {.input = "texts/*.txt", .map = words, .reduce = mapreduce::sum(), .output = "counts"}
//
// A value: it says what is to be done, and does nothing. Every task of a cluster has the same.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/functions.h"
#include "millrace/mapreduce/input.h"
#include "millrace/mapreduce/output.h"

namespace millrace::mapreduce {

// Prints a line at once.
void print_line(std::string_view line);

struct Job {
  Input input;            // a pattern of text files, or what input.h makes
  Mapper map;             // what makes pairs of a record
  Combiner combine = {};  // before pairs travel; what `reduce` combines by, if that is a combiner
  Reducer reduce = {};    // what becomes of a key's values; none: pairs as they are, sorted
  Output output;          // a folder for text, or what output.h makes

  Partitioner partition = {};  // none: keys are spread evenly
  int partitions = 0;          // files of the output; 0: as many as there are reducers
  // How many records may be bad: not readable, or such that `map` fails. They are put aside, in
  // _rejected.jsonl of the output. One more ends the job.
  int64_t max_bad = 0;
  // Bytes of pairs that a process holds, by its own estimate; beyond that they are sorted on disk.
  size_t memory = size_t{256} << 20;
  std::string spill = {};  // the folder for that, of each machine; empty: TMPDIR, or /tmp
  int threads = 0;         // without a cluster, where each takes work; 0: one per processor

  // How long a task may be silent before another gets what it has.
  std::chrono::milliseconds lease{30'000};
  int attempts = 20;  // at one piece of work; a task that is killed costs one
  // When nothing has been left to take for that long, and for twice as long as any piece took, what
  // is still at work is given to another task as well; none: never.
  std::optional<std::chrono::milliseconds> backups = std::chrono::milliseconds(10'000);

  std::string name = "mapreduce";  // if the program makes several in one process
  // Is given lines about the progress, not more often than each `pause`; null: silence.
  std::function<void(std::string_view)> say = print_line;
  std::chrono::milliseconds pause{5'000};

  // What pairs are combined by before they travel.
  const Combiner& combiner() const {
    return combine.kind() == Combiner::Kind::none ? reduce.combiner() : combine;
  }
  // Errors: INVALID_ARGUMENT, with the field, for what makes no sense.
  Status check() const;
};

// What a job has made.
struct Made {
  // "records read", "pairs mapped", "keys reduced", "records written", "bad records", "spills", and
  // what the program counts.
  Counters counters = {};
  // The paths of the output's files, one per partition; none if the results went into a queue.
  std::vector<std::string> files = {};
  // Whether this task published it. False on tasks that did some of the work: they know nothing of
  // the rest.
  bool is_published = false;
};

}  // namespace millrace::mapreduce

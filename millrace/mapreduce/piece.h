// Piece: a piece of work, and Report: what came of an attempt at it; both as they travel over
// queues, in JSON.
//
//   {"split": 7, "path": "/t/a.txt", "begin": 0, "end": 200, "work": "/o.unfinished-1f",
//   "partitions": 2}
//   {"partition": 1, "plan": "/o.unfinished-1f/plan.json", "work": "/o.unfinished-1f"}
//   {"publish": 1, "path": "/o.unfinished-1f/reduce-1-..."}
//   {"over": true}                                  there is no more: for one task of those that
//   take
//
//   {"split": 7, "file": "...", "segments": [[8, 90], [98, 0]], "counters": {...}, "bad": 0,
//   "seconds": 0.1}
//   {"partition": 1, "failed": "reducing ...", "code": 3}
//   {"bye": "map:1"}                                a task has heard that there is no more
//
// Numbers and sizes are bounded when they are read: what is in a queue is somebody else's.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/input.h"
#include "millrace/mapreduce/run_format.h"

namespace millrace::mapreduce {

// To publish: what a reducer has written goes into a queue.
enum class PieceKind : uint8_t { map, reduce, publish };
inline constexpr std::array kPieceKinds{PieceKind::map, PieceKind::reduce, PieceKind::publish};

struct Piece {
  PieceKind kind = PieceKind::map;
  bool is_over = false;   // no piece: the word that there are no more
  int64_t number = 0;     // of the split, or partition
  Split split = {};       // to map; to publish: the path alone
  int partitions = 1;     // to map: how many segments to make
  std::string plan = {};  // to reduce: the file that tells where the segments are
  std::string work = {};  // the job's folder; not to publish

  // For people: "mapping /t/a.txt from 0", "reducing partition 1".
  std::string name() const;
};

struct Report {
  std::string bye = {};  // not empty: no report, but this task's farewell
  PieceKind kind = PieceKind::map;
  int64_t number = 0;
  Status failure = {};                 // why the job can't be done; then all else is empty
  std::string file = {};               // what was made
  std::vector<Segment> segments = {};  // of a split, in `file`, one for each partition
  Counters counters = {};
  int64_t num_bad = 0;
  std::string aside = {};  // the file with the bad records, if there are any
  double seconds = 0;      // that it took
};

std::string encode(const Piece& piece);
std::string encode(const Report& report);
// Errors: DATA_LOSS for what encode() does not make.
Result<Piece> decode_piece(std::string_view text);
Result<Report> decode_report(std::string_view text);

// Where the segments of all splits are: a file for reducers. [[path, [[offset, length], ...]], ...]
std::string encode_plan(const std::vector<const Report*>& mapped);
// The segments of one partition, in the order of splits. Errors: DATA_LOSS.
Result<std::vector<Segment>> decode_plan(std::string_view text, int64_t partition);

}  // namespace millrace::mapreduce

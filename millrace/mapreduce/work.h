// The pieces of work: a split mapped, a partition reduced. Each writes files of its own and gives a
// report, in which a failure stands as well. Waits for the disk; any thread, each piece with one.
#pragma once

#include <string>
#include <string_view>

#include "millrace/base/clock.h"
#include "millrace/base/files.h"
#include "millrace/mapreduce/job.h"
#include "millrace/mapreduce/piece.h"

namespace millrace::mapreduce {

// What work stands on.
struct Site {
  Files& files;
  const Clock& clock;
  std::string spill;  // a folder of this machine, in which each attempt makes one of its own
  size_t memory;      // bytes of pairs that one piece may hold
};

// Makes the piece. `token` is of this attempt alone, in all processes.
Report attempted(const Job& job, const Piece& piece, const Site& site, std::string_view token);

}  // namespace millrace::mapreduce

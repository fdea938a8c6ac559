// Reading a journal (journal_format.h): the records of its snapshot and of its groups, in order.
//
// A writer that was killed, or whose machine went down, leaves at most one group that is not whole,
// at the end: it was not acknowledged, and is left out. Whatever else is wrong is an error, because
// something acknowledged would be missing: a snapshot that is not whole, a group that is damaged
// and has something behind it, a sequence with a gap. A last group that was damaged after it was
// acknowledged can't be told from one that was not finished, unless a farewell follows it.
//
// Memory: one frame, whose length is held against the file's before it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

#include "millrace/base/files.h"

namespace millrace::io {

// Takes one record; its bytes live as long as the call.
using RecordSink = absl::FunctionRef<Status(std::string_view record)>;

struct JournalFound {
  uint64_t generation = 0;  // 0: there was no journal
  uint64_t records = 0;
  uint64_t torn_bytes = 0;  // of a group that was not finished, and is left out
  bool ended_well = false;  // its writer said farewell
};

// Errors: DATA_LOSS, with the file and the offset; what `replay` returns; those of files.
Result<JournalFound> read_journal(Files& files, const std::string& folder, RecordSink replay);

}  // namespace millrace::io

// The file in which YARN keeps the logs of an application's containers on one machine, when it
// aggregates them: a TFile, as Hadoop calls it. Read as it was written, block by block; no block is
// held but the one that is read. Pure, but for where its bytes come from.
//
//   | block ... | index | names of indices | at of these i64 | version i16 i16 | magic 16 bytes |
//
//   names     number, for each: text "data:BCFile.index", say, text of how it is packed, place
//   place     where it begins, its size as it is there, its size unpacked: three numbers
//   index     text of how blocks are packed ("none", "gz"), number, for each block its place
//   block     records: number and key of that size, value in pieces
//   pieces    -size, bytes, -size, bytes ... size, bytes: that was the last
//   key       u16, text: "container_...", or one of what else is noted
//   value     for each log: u16, name; u16, its size in digits; its bytes
//
// A text is a number and so many bytes. A number takes one byte from -32 on; otherwise that says
// how many follow, and holds some of its bits. All is big-endian.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

struct AggregatedFile {
  uint64_t size = 0;
  // So many bytes from there on, all of them.
  std::function<Result<std::string>(uint64_t offset, uint64_t size)> read = {};
};

// What one container has written into one of its files; valid during the call.
struct AggregatedLog {
  std::string_view container;  // "container_1700000000000_0001_01_000001"
  std::string_view name;       // "stdout"
  std::string_view bytes;
};

// All logs of the file, in its order. Errors: those of reading; DATA_LOSS for what is no such file;
// UNIMPLEMENTED for blocks that are packed otherwise, or larger than 256 MiB.
Status read_aggregated(const AggregatedFile& file,
                       const std::function<Status(const AggregatedLog& log)>& take);

}  // namespace millrace

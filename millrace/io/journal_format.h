// The bytes of a journal: what a task writes down so that its state outlives it.
//
// A folder has one file that counts, of the highest generation. Its first part is all of the state
// as it was when the file was begun (the snapshot); what changed since follows in groups, each
// brought to the disk before the next is begun.
//
//   folder:   lock                       held by the process that writes
//             journal-00000000000000a7   the generation, 16 hexadecimal digits
//             journal-00000000000000a8.new   one that is not finished; counts for nothing
//
//   file:     | magic "MRJOURN1" 8 | generation u64 | salt u64 | checksum of these u32 |
//             | snapshot | snapshot | ... | snapshot end |    on the disk before the file has its
//             name | group | group | ... | farewell |              a farewell if its writer ended
//             well
//
//   frame:    | sequence u64 | length u64 | kind u32 | checksum of the head u32 |
//             | records, `length` bytes | checksum of them u32 |
//
//   record:   | length u64 | bytes |    ... again
//
// Numbers are little-endian. Checksums are CRC-32C, masked as in crc32c.h. That of a head goes on
// from that of the file's header, that of records from their head's, so that no bytes of another
// file or another place count; the salt is random, so that no client can send a value that reads
// as a frame. Frames are numbered from 1; snapshot end and farewell have no records.
//
// Goals: whatever ends the writer, wherever, leaves a file that reads as some group's end. What is
// damaged later is told, not skipped. Not goals: to share a folder, to compress, to be read while
// it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::io {

inline constexpr std::string_view kJournalMagic = "MRJOURN1";
inline constexpr size_t kJournalHeaderBytes = 8 + 8 + 8 + 4;
inline constexpr size_t kFrameHeadBytes = 8 + 8 + 4 + 4, kFrameTailBytes = 4;

enum class FrameKind : uint32_t { snapshot = 1, snapshot_end = 2, group = 3, farewell = 4 };

struct FrameHead {
  uint64_t sequence = 0;
  uint64_t length = 0;  // of the records
  FrameKind kind = FrameKind::group;
  uint32_t checksum = 0;  // of this head, unmasked
};

struct JournalHeader {
  std::string bytes;
  uint32_t seed = 0;  // the checksum that heads go on from
};
JournalHeader journal_header(uint64_t generation, uint64_t salt);
// The seed of a file that begins with `bytes`; none if they are not the header of that generation.
std::optional<uint32_t> read_journal_header(std::string_view bytes, uint64_t generation);

// A frame but for what follows its records, whose checksum goes on from the returned head's.
FrameHead put_frame_head(std::string* out, uint32_t seed, uint64_t sequence, FrameKind kind,
                         uint64_t length);
void put_frame_tail(std::string* out, const FrameHead& head, std::string_view records);
// Of kFrameHeadBytes; none if their checksum is wrong, or nobody writes such a head.
std::optional<FrameHead> read_frame_head(std::string_view bytes, uint32_t seed);
// Whether `tail`, of kFrameTailBytes, belongs to the head and its records.
bool is_frame_tail(std::string_view tail, const FrameHead& head, std::string_view records);

void put_record(std::string* out, std::string_view record);
// Takes the record at the front of `records`. Errors: DATA_LOSS if it passes their end.
Result<std::string_view> take_record(std::string_view* records);

// "journal-00000000000000a7", and what it is called while it is made.
std::string journal_name(uint64_t generation);
inline constexpr std::string_view kUnfinished = ".new";
inline constexpr std::string_view kJournalLock = "lock";
// None if a file of this name is no journal's, or unfinished.
std::optional<uint64_t> generation_of(std::string_view name);
// Whether it is one that was not finished.
bool is_unfinished(std::string_view name);

}  // namespace millrace::io

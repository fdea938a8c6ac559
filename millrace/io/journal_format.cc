#include "millrace/io/journal_format.h"

#include <charconv>

#include "millrace/base/str_cat.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

constexpr std::string_view kJournalPrefix = "journal-";
constexpr size_t kGenerationDigits = 16;

bool is_frame_kind(uint32_t number) {
  return number >= static_cast<uint32_t>(FrameKind::snapshot) &&
         number <= static_cast<uint32_t>(FrameKind::farewell);
}

}  // namespace

JournalHeader journal_header(uint64_t generation, uint64_t salt) {
  JournalHeader made{.bytes = std::string(kJournalMagic)};
  put_little(&made.bytes, generation);
  put_little(&made.bytes, salt);
  made.seed = crc32c(made.bytes);
  put_little(&made.bytes, masked(made.seed));
  return made;
}

std::optional<uint32_t> read_journal_header(std::string_view bytes, uint64_t generation) {
  if (bytes.size() < kJournalHeaderBytes) return std::nullopt;
  const auto salt = read_little<uint64_t>(bytes.substr(kJournalMagic.size() + 8));
  const JournalHeader wanted = journal_header(generation, salt);
  if (bytes.substr(0, kJournalHeaderBytes) != wanted.bytes) return std::nullopt;
  return wanted.seed;
}

FrameHead put_frame_head(std::string* out, uint32_t seed, uint64_t sequence, FrameKind kind,
                         uint64_t length) {
  const size_t begin = out->size();
  put_little(out, sequence);
  put_little(out, length);
  put_little(out, static_cast<uint32_t>(kind));
  const uint32_t checksum = crc32c(std::string_view(*out).substr(begin), seed);
  put_little(out, masked(checksum));
  return {.sequence = sequence, .length = length, .kind = kind, .checksum = checksum};
}

void put_frame_tail(std::string* out, const FrameHead& head, std::string_view records) {
  put_little(out, masked(crc32c(records, head.checksum)));
}

std::optional<FrameHead> read_frame_head(std::string_view bytes, uint32_t seed) {
  const auto kind = read_little<uint32_t>(bytes.substr(16));
  if (!is_frame_kind(kind)) return std::nullopt;
  const uint32_t checksum = crc32c(bytes.substr(0, 20), seed);
  if (masked(checksum) != read_little<uint32_t>(bytes.substr(20))) return std::nullopt;
  return FrameHead{.sequence = read_little<uint64_t>(bytes),
                   .length = read_little<uint64_t>(bytes.substr(8)),
                   .kind = static_cast<FrameKind>(kind),
                   .checksum = checksum};
}

bool is_frame_tail(std::string_view tail, const FrameHead& head, std::string_view records) {
  return read_little<uint32_t>(tail) == masked(crc32c(records, head.checksum));
}

void put_record(std::string* out, std::string_view record) {
  put_little<uint64_t>(out, record.size());
  out->append(record);
}

Result<std::string_view> take_record(std::string_view* records) {
  constexpr size_t kLengthBytes = sizeof(uint64_t);
  if (records->size() >= kLengthBytes) {
    const auto length = read_little<uint64_t>(*records);
    if (length <= records->size() - kLengthBytes) {
      const std::string_view record = records->substr(kLengthBytes, length);
      records->remove_prefix(kLengthBytes + length);
      return record;
    }
  }
  return error(Code::data_loss, "a record passes the end of its frame, ", records->size(),
               " bytes before which it begins");
}

std::string journal_name(uint64_t generation) {
  char digits[kGenerationDigits];
  const char* const end = std::to_chars(digits, digits + sizeof digits, generation, 16).ptr;
  const auto used = static_cast<size_t>(end - digits);
  return str_cat(kJournalPrefix, std::string(kGenerationDigits - used, '0'),
                 std::string_view(digits, used));
}

std::optional<uint64_t> generation_of(std::string_view name) {
  if (!name.starts_with(kJournalPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kJournalPrefix.size());
  uint64_t generation = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, problem] = std::from_chars(digits.data(), end, generation, 16);
  if (digits.size() != kGenerationDigits || problem != std::errc() || at != end)
    return std::nullopt;
  return generation;
}

bool is_unfinished(std::string_view name) {
  return name.ends_with(kUnfinished) &&
         generation_of(name.substr(0, name.size() - kUnfinished.size())).has_value();
}

}  // namespace millrace::io

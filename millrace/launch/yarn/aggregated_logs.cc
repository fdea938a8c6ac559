#include "millrace/launch/yarn/aggregated_logs.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

namespace millrace {
namespace {

constexpr uint64_t kTFileMagicSize = 16;
constexpr unsigned char kTFileMagic[kTFileMagicSize] = {
    0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6, 0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50};
constexpr uint64_t kTFileTail = 8 + 4 + kTFileMagicSize;
constexpr uint64_t kLongestBlock = uint64_t{256} << 20;
constexpr std::string_view kIndexName = "data:BCFile.index";
constexpr std::string_view kContainer = "container_";

Status no_such_logs() {
  return error(Code::data_loss, "it is no file of aggregated logs, or half one");
}

// Takes what is written one behind the other; once something was not there, nothing is any more.
class TFileTaker {
 public:
  explicit TFileTaker(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

  std::string_view bytes(uint64_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return "";
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  // Big-endian, with its sign.
  int64_t fixed(size_t size) {
    const std::string_view digits = bytes(size);
    uint64_t value = 0;
    for (const char byte : digits) value = value << 8 | static_cast<unsigned char>(byte);
    const size_t unused = 64 - 8 * size;
    return static_cast<int64_t>(value << unused) >> unused;
  }

  int64_t number() {
    const int64_t first = fixed(1);
    if (first >= -32) return first;
    if (first >= -72) return (first + 52) << 8 | (fixed(1) & 0xff);
    if (first >= -104) return (first + 88) << 16 | (fixed(2) & 0xffff);
    if (first >= -120) return (first + 112) << 24 | (fixed(3) & 0xffffff);
    const int64_t size = first + 129;
    if (size >= 4 && size <= 8) return fixed(static_cast<size_t>(size));
    ok_ = false;
    return 0;
  }

  uint64_t size() {
    const int64_t value = number();
    if (value < 0) ok_ = false;
    return ok_ ? static_cast<uint64_t>(value) : 0;
  }

  std::string_view text() { return bytes(size()); }
  std::string_view short_text() { return bytes(static_cast<uint64_t>(fixed(2) & 0xffff)); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct BlockPlace {
  uint64_t at = 0;
  uint64_t size = 0;
  uint64_t unpacked = 0;
};

BlockPlace take_block_place(TFileTaker& from) {
  BlockPlace place;
  place.at = from.size();
  place.size = from.size();
  place.unpacked = from.size();
  return place;
}

Result<std::string> unpack_block(const std::string& packed, uint64_t size) {
  std::string bytes(size, '\0');
  z_stream stream{};
  constexpr int kAnyHeader = 15 + 32;  // of zlib or gzip
  if (inflateInit2(&stream, kAnyHeader) != Z_OK)
    return error(Code::resource_exhausted, "no memory to unpack_block logs");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const int end = inflate(&stream, Z_FINISH);
  const bool is_whole = end == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!is_whole) return no_such_logs();
  return bytes;
}

Result<std::string> block_at(const AggregatedFile& file, const BlockPlace& place,
                             std::string_view packed_as) {
  if (place.at > file.size || place.size > file.size - place.at) return no_such_logs();
  if (std::max(place.size, place.unpacked) > kLongestBlock)
    return error(Code::unimplemented, "a container's logs are ", place.unpacked,
                 " bytes, of which ", kLongestBlock, " can be read");
  if (packed_as != "none" && packed_as != "gz")
    return error(Code::unimplemented, "they are packed by '", packed_as, "'");
  MR_ASSIGN(std::string bytes, file.read(place.at, place.size));
  if (packed_as == "none") return bytes;
  return unpack_block(bytes, place.unpacked);
}

struct BlockIndex {
  std::string packed_as = {};
  std::vector<BlockPlace> blocks = {};
};

Result<BlockIndex> index_of(const AggregatedFile& file) {
  if (file.size < kTFileTail) return no_such_logs();
  MR_ASSIGN(const std::string tail, file.read(file.size - kTFileTail, kTFileTail));
  const auto is_byte = [](char a, unsigned char b) { return static_cast<unsigned char>(a) == b; };
  TFileTaker end(tail);
  const auto at = static_cast<uint64_t>(end.fixed(8));
  end.bytes(4);
  if (!std::ranges::equal(end.bytes(kTFileMagicSize), kTFileMagic, is_byte)) return no_such_logs();
  if (at > file.size - kTFileTail || file.size - kTFileTail - at > kLongestBlock)
    return no_such_logs();
  MR_ASSIGN(const std::string text, file.read(at, file.size - kTFileTail - at));
  TFileTaker names(text);
  for (uint64_t left = names.size(); left > 0 && names.ok(); --left) {
    const std::string_view name = names.text();
    const std::string_view packed_as = names.text();
    const BlockPlace place = take_block_place(names);
    if (!names.ok() || name != kIndexName) continue;
    MR_ASSIGN(const std::string bytes, block_at(file, place, packed_as));
    TFileTaker from(bytes);
    BlockIndex index{.packed_as = std::string(from.text())};
    for (uint64_t blocks = from.size(); blocks > 0 && from.ok(); --blocks)
      index.blocks.push_back(take_block_place(from));
    if (!from.ok()) break;
    return index;
  }
  return no_such_logs();
}

// A value, whose pieces are put together.
std::string take_value(TFileTaker& from) {
  std::string value;
  while (from.ok()) {
    const int64_t size = from.number();
    value += from.bytes(static_cast<uint64_t>(size < 0 ? -size : size));
    if (size >= 0) break;
  }
  return value;
}

Status take_logs(std::string_view container, std::string_view value,
                 const std::function<Status(const AggregatedLog&)>& take) {
  TFileTaker from(value);
  while (!from.at_end()) {
    const std::string_view name = from.short_text();
    const std::string_view digits = from.short_text();
    uint64_t size = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    const std::string_view bytes = from.bytes(size);
    if (!from.ok() || fault != std::errc() || end != digits.data() + digits.size())
      return no_such_logs();
    MR_TRY(take({.container = container, .name = name, .bytes = bytes}));
  }
  return {};
}

}  // namespace

Status read_aggregated(const AggregatedFile& file,
                       const std::function<Status(const AggregatedLog&)>& take) {
  MR_ASSIGN(const BlockIndex index, index_of(file));
  for (const BlockPlace& place : index.blocks) {
    MR_ASSIGN(const std::string block, block_at(file, place, index.packed_as));
    TFileTaker from(block);
    while (!from.at_end()) {
      TFileTaker key(from.text());
      const std::string_view container = key.short_text();
      const std::string value = take_value(from);
      if (!from.ok() || !key.ok()) return no_such_logs();
      // Who may read them, and who wrote them, stands there, too.
      if (container.starts_with(kContainer)) MR_TRY(take_logs(container, value, take));
    }
  }
  return {};
}

}  // namespace millrace

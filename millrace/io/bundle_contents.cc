#include "millrace/io/bundle_contents.h"

#include <algorithm>
#include <initializer_list>

#include "absl/functional/function_ref.h"

#include "millrace/format/wire_format.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

using Append = absl::FunctionRef<Status(std::string_view bytes)>;

// What is summed up and written at once: it is still in the processor's cache when it is read for
// the second time.
constexpr size_t kPiece = 256 << 10;

// The bytes in front of a tensor's strings, and their checksum, which goes on over the strings.
struct StringHead {
  std::string bytes;
  uint32_t crc = 0;
};

StringHead string_head(std::span<const std::string> texts) {
  StringHead head;
  for (const std::string& text : texts) {
    wire::put_varint(&head.bytes, text.size());
    head.crc = crc_with_length(head.crc, text.size());
  }
  std::string checksum;
  put_little(&checksum, masked(head.crc));
  head.bytes += checksum;
  head.crc = crc32c(checksum, head.crc);
  return head;
}

// Each gives the checksum of what it has written.
Result<uint32_t> write_strings(std::span<const std::string> texts, Append append) {
  StringHead head = string_head(texts);
  MR_TRY(append(head.bytes));
  for (const std::string& text : texts) {
    head.crc = crc32c(text, head.crc);
    MR_TRY(append(text));
  }
  return head.crc;
}

Result<uint32_t> write_variants(std::span<const std::string> messages, Append append) {
  uint32_t crc = 0;
  for (const std::string& message : messages) {
    std::string head, checksum;
    wire::put_varint(&head, message.size());
    crc = crc32c(message, crc_with_whole_length(crc, message.size()));
    put_little(&checksum, masked(crc));
    crc = crc32c(checksum, crc);
    for (const std::string* part :
         std::initializer_list<const std::string*>{&head, &message, &checksum})
      MR_TRY(append(*part));
  }
  return crc;
}

Result<uint32_t> write_plain(std::string_view bytes, Append append) {
  uint32_t crc = 0;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    crc = crc32c(piece, crc);
    MR_TRY(append(piece));
    bytes.remove_prefix(piece.size());
  }
  return crc;
}

Result<uint32_t> write_held(const BundleContent& content, Append append) {
  if (const auto* messages = std::get_if<std::vector<std::string>>(&content.held))
    return write_variants(*messages, append);
  const Tensor& tensor = std::get<Tensor>(content.held);
  if (tensor.dtype() == DType::string) return write_strings(tensor.flat<std::string>(), append);
  return write_plain(tensor.bytes(), append);
}

// Near enough to cut by: lengths and checksums of strings are left out.
uint64_t size_of(const BundleContent& content) {
  const auto sum = [](std::span<const std::string> texts) {
    uint64_t bytes = 0;
    for (const std::string& text : texts) bytes += text.size();
    return bytes;
  };
  if (const auto* messages = std::get_if<std::vector<std::string>>(&content.held))
    return sum(*messages);
  const Tensor& tensor = std::get<Tensor>(content.held);
  return tensor.dtype() == DType::string ? sum(tensor.flat<std::string>()) : tensor.bytes().size();
}

}  // namespace

std::vector<std::span<const BundleContent>> cut_into_shards(std::span<const BundleContent> contents,
                                                            uint64_t least_bytes) {
  uint64_t total = 0;
  for (const BundleContent& content : contents) total += size_of(content);
  const auto wanted = static_cast<size_t>(
      std::clamp<uint64_t>(total / least_bytes, 1, static_cast<uint64_t>(kMostShards)));
  std::vector<std::span<const BundleContent>> shards;
  size_t begin = 0;
  uint64_t before = 0;
  for (size_t at = 0; at < contents.size(); ++at) {
    const uint64_t size = size_of(contents[at]);
    // The next one starts at the tensor whose middle lies behind the cut.
    const uint64_t cut = total / wanted * (shards.size() + 1);
    if (at > begin && shards.size() + 1 < wanted && before + size / 2 >= cut) {
      shards.push_back(contents.subspan(begin, at - begin));
      begin = at;
    }
    before += size;
  }
  shards.push_back(contents.subspan(begin));
  return shards;
}

Status write_shard(std::span<const BundleContent> contents, int shard, WritableFile& file) {
  uint64_t offset = 0;
  for (const BundleContent& content : contents) {
    BundleEntry& entry = *content.entry;
    entry.shard = shard;
    entry.offset = offset;
    MR_ASSIGN(const uint32_t crc, write_held(content, [&](std::string_view bytes) {
                offset += bytes.size();
                return file.append(bytes);
              }));
    entry.checksum = masked(crc);
    entry.size = offset - entry.offset;
  }
  MR_TRY(file.sync());
  return file.close();
}

}  // namespace millrace::io

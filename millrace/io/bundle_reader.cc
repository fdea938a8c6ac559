#include "millrace/io/bundle_reader.h"

#include <set>
#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/io/box_copy.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"

namespace millrace::io {
namespace {

template <class... Parts>
Status lost(const Parts&... parts) {
  return error(Code::data_loss, parts...);
}

// The key of a slice begins with a zero byte, which no name does.
bool is_slice_key(std::string_view key) { return !key.empty() && key.front() == '\0'; }

}  // namespace

Result<std::unique_ptr<BundleReader>> BundleReader::open(Files& files, std::string prefix) {
  std::unique_ptr<BundleReader> reader(new BundleReader(files, std::move(prefix)));
  const std::string path = index_path(reader->prefix_);
  MR_ASSIGN(std::unique_ptr<ReadableFile> file, files.open(path));
  MR_ASSIGN(reader->index_, Table::open(std::move(file), path));
  MR_ASSIGN(const std::optional<std::string> header, reader->index_->find(""));
  if (!header) return lost(path, ": there is no header in it");
  MR_ASSIGN(reader->header_, decode_bundle_header(*header).with(path));
  return reader;
}

Result<BundleEntry> BundleReader::entry(const std::string& name) const {
  MR_ASSIGN(const std::optional<std::string> bytes, index_->find(name));
  if (!bytes || name.empty()) return not_found("Key ", name, " not found in checkpoint");
  return decode_bundle_entry(*bytes).with(str_cat(index_path(prefix_), ", '", name, "'"));
}

Status BundleReader::check_shard(int number) const {
  if (number >= 0 && number < header_.num_shards) return {};
  return lost(index_path(prefix_), " names shard ", number, " of data; there are ",
              header_.num_shards);
}

Result<const BundleReader::Shard*> BundleReader::shard(int number) const {
  MR_TRY(check_shard(number));
  MutexLock lock(mutex_);
  Shard& shard = shards_[number];
  if (shard.file == nullptr) {
    shard.path = data_path(prefix_, number, header_.num_shards);
    MR_ASSIGN(shard.file, files_.open(shard.path));
    MR_ASSIGN(shard.size, shard.file->size());
  }
  // A node of the map stays where it is.
  return &shard;
}

Status BundleReader::read_bytes(const BundleEntry& entry, const Shard& shard,
                                std::span<char> into) const {
  MR_ASSIGN(const size_t done, shard.file->read(entry.offset, into));
  return done == into.size() ? Status() : lost(shard.path, " ended while it was read");
}

Result<const BundleReader::Shard*> BundleReader::shard_of(const std::string& name,
                                                          const BundleEntry& entry) const {
  MR_ASSIGN(const Shard* const from, shard(entry.shard));
  if (entry.offset > from->size || entry.size > from->size - entry.offset) {
    return lost(from->path, " has ", from->size, " bytes, but '", name, "' would lie at ",
                entry.offset, " to ", entry.offset + entry.size,
                ": the file is cut off, or belongs to another index");
  }
  const auto wanted = static_cast<uint64_t>(entry.shape.num_elements());
  if (entry.dtype == DType::string) {
    // Every string has a byte of length at least.
    if (entry.size < 4 || wanted > entry.size - 4)
      return lost(entry.size, " bytes can't hold ", wanted, " strings").with(name);
    return from;
  }
  if (entry.dtype == DType::variant) {
    if (wanted > entry.size / 5)  // a length and a checksum
      return lost(entry.size, " bytes can't hold ", wanted, " variants").with(name);
    return from;
  }
  if (!is_plain(entry.dtype))
    return unimplemented("'", name, "' is of ", dtype_name(entry.dtype), ", which can't be read");
  if (entry.size % dtype_size(entry.dtype) != 0 || entry.size / dtype_size(entry.dtype) != wanted) {
    return lost("'", name, "' has ", entry.size, " bytes, which is no ", dtype_name(entry.dtype),
                entry.shape.to_string());
  }
  return from;
}

Result<Tensor> BundleReader::read_entry(const std::string& name, const BundleEntry& entry) const {
  MR_ASSIGN(const Shard* const from, shard_of(name, entry));
  if (entry.dtype == DType::string) return read_strings(entry, *from).with(name);
  if (!is_plain(entry.dtype))
    return unimplemented("'", name, "' is of ", dtype_name(entry.dtype),
                         ", of which slices can't be read");
  MR_ASSIGN(Tensor tensor, Tensor::allocate(entry.dtype, entry.shape));
  const std::span<char> bytes(static_cast<char*>(tensor.mutable_data()), tensor.num_bytes());
  MR_TRY(read_bytes(entry, *from, bytes));
  if (crc32c(tensor.bytes()) != unmasked(entry.checksum))
    return lost(from->path, ": the checksum of '", name, "' is wrong: its bytes are damaged");
  return tensor;
}

Result<Tensor> BundleReader::read_strings(const BundleEntry& entry, const Shard& shard) const {
  std::string bytes(entry.size, '\0');
  MR_TRY(read_bytes(entry, shard, bytes));
  wire::Reader reader(bytes);
  MR_ASSIGN(Tensor tensor, Tensor::allocate(DType::string, entry.shape));
  std::vector<uint64_t> lengths(static_cast<size_t>(entry.shape.num_elements()));
  uint64_t total = 0;
  for (uint64_t& length : lengths) {
    if (!reader.next_varint(&length) || length > entry.size - total)
      return lost("lengths of strings are damaged");
    total += length;
  }
  const std::string_view rest = reader.remaining();
  if (rest.size() < 4 || rest.size() - 4 != total) return lost("lengths of strings are damaged");
  uint32_t crc = 0;
  for (const uint64_t length : lengths) crc = crc_with_length(crc, length);
  if (crc != unmasked(read_little<uint32_t>(rest)))
    return lost("the checksum of lengths of strings is wrong");
  if (crc32c(rest, crc) != unmasked(entry.checksum))
    return lost("the checksum of strings is wrong");
  std::string_view texts = rest.substr(4);
  auto into = tensor.mutable_flat<std::string>();
  for (size_t i = 0; i < lengths.size(); ++i) {
    into[i] = texts.substr(0, lengths[i]);
    texts.remove_prefix(lengths[i]);
  }
  return tensor;
}

Result<std::vector<std::string>> BundleReader::read_variants(const std::string& name,
                                                             const BundleEntry& found) const {
  if (found.dtype != DType::variant || !found.slices.empty())
    return invalid("'", name, "' is of ", dtype_name(found.dtype), ", not whole and of variants");
  MR_ASSIGN(const Shard* const from, shard_of(name, found));
  std::string bytes(found.size, '\0');
  MR_TRY(read_bytes(found, *from, bytes));
  std::string_view rest = bytes;
  std::vector<std::string> messages;
  uint32_t crc = 0;
  for (int64_t i = 0; i < found.shape.num_elements(); ++i) {
    wire::Reader reader(rest);
    uint64_t length = 0;
    if (!reader.next_varint(&length) || reader.remaining().size() < 4 ||
        length > reader.remaining().size() - 4)
      return lost("lengths of variants are damaged").with(name);
    rest = reader.remaining();
    messages.emplace_back(rest.substr(0, length));
    rest.remove_prefix(length);
    crc = crc32c(messages.back(), crc_with_whole_length(crc, length));
    const std::string_view checksum = rest.substr(0, 4);
    if (crc != unmasked(read_little<uint32_t>(checksum)))
      return lost("the checksum of a variant is wrong").with(name);
    crc = crc32c(checksum, crc);
    rest.remove_prefix(4);
  }
  if (!rest.empty() || crc != unmasked(found.checksum))
    return lost("the checksum of variants is wrong").with(name);
  return messages;
}

Result<Tensor> BundleReader::read(const std::string& name) const {
  MR_ASSIGN(const BundleEntry found, entry(name));
  return read(name, found);
}

Result<Tensor> BundleReader::read(const std::string& name, const BundleEntry& found) const {
  if (found.slices.empty()) return read_entry(name, found);
  return read_slice(name, found, Slice::whole(found.shape.rank()));
}

Result<BundleEntry> BundleReader::slice_entry(const std::string& name, const BundleEntry& found,
                                              const Slice& stored, const Slice& box) const {
  MR_ASSIGN(const std::optional<std::string> bytes, index_->find(slice_key(name, stored)));
  if (!bytes)
    return lost(index_path(prefix_), ": slice '", stored.to_string(), "' of '", name,
                "' is missing");
  MR_ASSIGN(BundleEntry part, decode_bundle_entry(*bytes).with(name));
  MR_ASSIGN(const Shape shape, box.shape());
  if (part.shape != shape || part.dtype != found.dtype)
    return lost("slice '", stored.to_string(), "' of '", name,
                "' has another type or shape than it should");
  MR_TRY(shard_of(name, part).status());
  return part;
}

Result<Tensor> BundleReader::read_slice(const std::string& name, const BundleEntry& found,
                                        const Slice& slice) const {
  MR_ASSIGN(const Slice wanted, slice.within(found.shape));
  MR_ASSIGN(const Shape shape, wanted.shape());
  // All parts are looked up before anything is allocated: the result is as large as what the files
  // hold of it, whatever the index says.
  std::vector<std::pair<Slice, BundleEntry>> parts;
  std::set<std::string> seen;  // what is listed twice fills nothing twice
  int64_t held = 0;
  for (const Slice& stored : found.slices) {
    MR_ASSIGN(Slice box, stored.within(found.shape).with(name));
    const int64_t common = num_elements(common_part(box, wanted));
    if (common == 0 || !seen.insert(box.to_string()).second) continue;
    held += common;
    MR_ASSIGN(BundleEntry part, slice_entry(name, found, stored, box));
    parts.emplace_back(std::move(box), std::move(part));
  }
  if (found.slices.empty()) {
    MR_ASSIGN(Slice box, Slice::whole(found.shape.rank()).within(found.shape));
    parts.emplace_back(std::move(box), found);
  } else if (held < shape.num_elements()) {
    return invalid("the slices of '", name, "' in the checkpoint hold ", held, " of ",
                   shape.num_elements(), " elements of '", wanted.to_string(), "'");
  }
  std::optional<Tensor> made;
  for (const auto& [box, part] : parts) {
    MR_ASSIGN(Tensor from, read_entry(name, part));
    if (box == wanted) {
      made = std::move(from);
      continue;
    }
    if (!made) {
      MR_ASSIGN(made, Tensor::zeros(found.dtype, shape));
    }
    MR_TRY(copy_elements(common_part(box, wanted), box, from, wanted, *made));
  }
  if (!made) return Tensor::zeros(found.dtype, shape);
  return *std::move(made);
}

Status BundleReader::each(
    const std::function<Status(std::string_view key, const BundleEntry&)>& see) const {
  return index_->each([&](std::string_view key, std::string_view value) -> Status {
    if (key.empty()) return {};
    MR_ASSIGN(const BundleEntry entry, decode_bundle_entry(value).with(index_path(prefix_)));
    return see(key, entry);
  });
}

Result<std::map<std::string, BundleEntry>> BundleReader::tensors() const {
  std::map<std::string, BundleEntry> found;
  MR_TRY(each([&](std::string_view key, const BundleEntry& entry) -> Status {
    if (!is_slice_key(key)) found.emplace(key, entry);
    return {};
  }));
  return found;
}

}  // namespace millrace::io

#include "millrace/io/bundle_writer.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/io/bundle_place.h"
#include "millrace/io/crc32c.h"
#include "millrace/io/little_endian.h"
#include "millrace/io/paths.h"
#include "millrace/io/table.h"

namespace millrace::io {
namespace {

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

bool overlaps(const Slice& a, const Slice& b) {
  const Slice part = common_part(a, b);
  return std::all_of(part.extents.begin(), part.extents.end(),
                     [](const Extent& extent) { return extent.length > 0; });
}

}  // namespace

Result<std::unique_ptr<BundleWriter>> BundleWriter::create(Files& files, std::string prefix,
                                                           Random& random) {
  if (prefix.empty()) return invalid("a checkpoint needs a prefix; it is empty");
  MR_TRY(make_directory_of(files, prefix));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(files, std::move(prefix), random));
  MR_ASSIGN(writer->data_, files.create(writer->data_name_));
  return writer;
}

BundleWriter::BundleWriter(Files& files, std::string prefix, Random& random)
    : files_(files),
      random_(random),
      prefix_(std::move(prefix)),
      data_name_(str_cat(data_path(prefix_, 0, 1), ".tempstate", random.next())),
      index_name_(str_cat(index_path(prefix_), ".tempstate", random.next())) {}

BundleWriter::~BundleWriter() {
  if (!is_done_) remove_leavings();
}

void BundleWriter::remove_leavings() {
  data_.reset();
  // What is not there needs no removing, and nobody is left to hear of another trouble.
  static_cast<void>(files_.remove(data_name_));
  static_cast<void>(files_.remove(index_name_));
}

Status BundleWriter::add(const std::string& name, const Tensor& tensor) {
  if (name.empty()) return invalid("a tensor needs a name in a checkpoint");
  return put(name, tensor);
}

Status BundleWriter::add_slice(const std::string& name, const Shape& whole, const Slice& slice,
                               const Tensor& tensor) {
  if (name.empty()) return invalid("a tensor needs a name in a checkpoint");
  MR_ASSIGN(const Slice inside, slice.within(whole));
  MR_ASSIGN(const Shape shape, inside.shape());
  if (shape != tensor.shape()) {
    return invalid("slice '", slice.to_string(), "' of '", name, "' has shape ", shape.to_string(),
                   ", but the tensor has ", tensor.shape().to_string());
  }
  BundleEntry& entry = entries_[name];
  if (entry.dtype == DType::invalid) {
    entry.dtype = tensor.dtype();
    entry.shape = whole;
  } else if (entry.slices.empty() || entry.dtype != tensor.dtype() || entry.shape != whole) {
    return invalid("'", name, "' is in the checkpoint as ", dtype_name(entry.dtype),
                   entry.shape.to_string(), entry.slices.empty() ? ", whole" : "", "; a slice of ",
                   dtype_name(tensor.dtype()), whole.to_string(), " can't be added");
  }
  for (const Slice& other : entry.slices) {
    MR_ASSIGN(const Slice there, other.within(whole));
    if (overlaps(there, inside))
      return invalid("slices '", other.to_string(), "' and '", slice.to_string(), "' of '", name,
                     "' overlap");
  }
  entry.slices.push_back(slice);
  return put(slice_key(name, slice), tensor);
}

Status BundleWriter::add_variants(const std::string& name, const Shape& shape,
                                  std::span<const std::string> messages) {
  if (name.empty()) return invalid("a tensor needs a name in a checkpoint");
  if (static_cast<int64_t>(messages.size()) != shape.num_elements())
    return invalid("'", name, "' has shape ", shape.to_string(), ", but there are ",
                   messages.size(), " variants");
  MR_TRY(problem_);
  if (entries_.contains(name)) return invalid("'", name, "' is in the checkpoint already");
  return note(name, write_variants(shape, messages));
}

Status BundleWriter::put(std::string key, const Tensor& tensor) {
  MR_TRY(problem_);
  if (entries_.contains(key)) return invalid("'", key, "' is in the checkpoint already");
  return note(std::move(key), write_data(tensor));
}

Status BundleWriter::note(std::string key, Result<BundleEntry> entry) {
  if (!entry.ok()) return problem_ = entry.status();
  entries_.emplace(std::move(key), *std::move(entry));
  return {};
}

Result<BundleEntry> BundleWriter::write_data(const Tensor& tensor) {
  BundleEntry entry{.dtype = tensor.dtype(), .shape = tensor.shape(), .offset = offset_};
  const auto append = [&](std::string_view bytes) {
    entry.size += bytes.size();
    return data_->append(bytes);
  };
  if (tensor.dtype() == DType::string) {
    const auto texts = tensor.flat<std::string>();
    StringHead head = string_head(texts);
    MR_TRY(append(head.bytes));
    for (const std::string& text : texts) {
      head.crc = crc32c(text, head.crc);
      MR_TRY(append(text));
    }
    entry.checksum = masked(head.crc);
  } else if (is_plain(tensor.dtype())) {
    entry.checksum = masked(crc32c(tensor.bytes()));
    MR_TRY(append(tensor.bytes()));
  } else {
    return unimplemented("a tensor of ", dtype_name(tensor.dtype()),
                         " can't be kept in a checkpoint");
  }
  offset_ += entry.size;
  return entry;
}

Result<BundleEntry> BundleWriter::write_variants(const Shape& shape,
                                                 std::span<const std::string> messages) {
  BundleEntry entry{.dtype = DType::variant, .shape = shape, .offset = offset_};
  uint32_t crc = 0;
  for (const std::string& message : messages) {
    std::string head, checksum;
    wire::put_varint(&head, message.size());
    crc = crc32c(message, crc_with_whole_length(crc, message.size()));
    put_little(&checksum, masked(crc));
    crc = crc32c(checksum, crc);
    for (const std::string* part :
         std::initializer_list<const std::string*>{&head, &message, &checksum}) {
      entry.size += part->size();
      MR_TRY(data_->append(*part));
    }
  }
  entry.checksum = masked(crc);
  offset_ += entry.size;
  return entry;
}

Status BundleWriter::finish() {
  MR_TRY(problem_);
  MR_TRY(data_->sync());
  MR_TRY(data_->close());
  MR_ASSIGN(const int count, shards_for(files_, prefix_, 1));
  MR_TRY(write_bundle_index(files_, index_name_, count, entries_));
  MR_TRY(put_in_place(files_, {data_name_}, index_name_, count, prefix_, random_));
  is_done_ = true;
  return {};
}

Status write_bundle_index(Files& files, const std::string& path, int num_shards,
                          const std::map<std::string, BundleEntry>& entries) {
  MR_ASSIGN(const std::unique_ptr<WritableFile> file, files.create(path));
  TableWriter table(*file);
  BundleHeader header;
  header.num_shards = num_shards;
  MR_TRY(table.add("", encode(header)));
  for (const auto& [key, entry] : entries) MR_TRY(table.add(key, encode(entry)));
  MR_TRY(table.finish());
  MR_TRY(file->sync());
  return file->close();
}

}  // namespace millrace::io

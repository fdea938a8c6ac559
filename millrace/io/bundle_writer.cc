#include "millrace/io/bundle_writer.h"

#include <algorithm>
#include <span>
#include <utility>

#include "millrace/base/share_out.h"
#include "millrace/io/bundle_place.h"
#include "millrace/io/paths.h"
#include "millrace/io/table.h"

namespace millrace::io {
namespace {

bool overlaps(const Slice& a, const Slice& b) {
  const Slice part = common_part(a, b);
  return std::all_of(part.extents.begin(), part.extents.end(),
                     [](const Extent& extent) { return extent.length > 0; });
}

}  // namespace

Result<std::unique_ptr<BundleWriter>> BundleWriter::create(Files& files, std::string prefix,
                                                           Random& random,
                                                           const BundleWriterOptions& options) {
  if (prefix.empty()) return invalid("a checkpoint needs a prefix; it is empty");
  MR_TRY(make_directory_of(files, prefix));
  return std::unique_ptr<BundleWriter>(new BundleWriter(files, std::move(prefix), random, options));
}

BundleWriter::BundleWriter(Files& files, std::string prefix, Random& random,
                           const BundleWriterOptions& options)
    : files_(files),
      random_(random),
      options_(options),
      prefix_(std::move(prefix)),
      index_name_(str_cat(index_path(prefix_), ".tempstate", random.next())) {}

BundleWriter::~BundleWriter() {
  if (!is_done_) remove_leavings();
}

void BundleWriter::remove_leavings() {
  // What is not there needs no removing, and nobody is left to hear of another trouble.
  for (const std::string& name : data_names_) static_cast<void>(files_.remove(name));
  if (!data_names_.empty()) static_cast<void>(files_.remove(index_name_));
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
                                  std::vector<std::string> messages) {
  if (name.empty()) return invalid("a tensor needs a name in a checkpoint");
  if (static_cast<int64_t>(messages.size()) != shape.num_elements())
    return invalid("'", name, "' has shape ", shape.to_string(), ", but there are ",
                   messages.size(), " variants");
  return hold(name, {.dtype = DType::variant, .shape = shape}, {.held = std::move(messages)});
}

Status BundleWriter::put(std::string key, const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype != DType::string && !is_plain(dtype))
    return unimplemented("a tensor of ", dtype_name(dtype), " can't be kept in a checkpoint");
  return hold(std::move(key), {.dtype = dtype, .shape = tensor.shape()}, {.held = tensor});
}

Status BundleWriter::hold(std::string key, BundleEntry entry, BundleContent content) {
  const auto [there, is_new] = entries_.try_emplace(std::move(key), std::move(entry));
  if (!is_new) return invalid("'", there->first, "' is in the checkpoint already");
  content.entry = &there->second;
  contents_.push_back(std::move(content));
  return {};
}

Status BundleWriter::finish() {
  const std::vector<std::span<const BundleContent>> shards =
      cut_into_shards(contents_, options_.least_shard_bytes);
  const auto wanted = static_cast<int>(shards.size());
  for (int shard = 0; shard < wanted; ++shard)
    data_names_.push_back(str_cat(data_path(prefix_, shard, wanted), ".tempstate", random_.next()));
  MR_TRY(share_out(options_.others, wanted, [&](int64_t shard) -> Status {
    const auto slot = static_cast<size_t>(shard);
    MR_ASSIGN(const std::unique_ptr<WritableFile> file, files_.create(data_names_[slot]));
    return write_shard(shards[slot], static_cast<int>(shard), *file);
  }));
  MR_ASSIGN(const int count, shards_for(files_, prefix_, wanted));
  MR_TRY(write_bundle_index(files_, index_name_, count, entries_));
  MR_TRY(put_in_place(files_, data_names_, index_name_, count, prefix_, random_, options_.others));
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

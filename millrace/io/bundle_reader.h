// BundleReader: reads a checkpoint (bundle.h). Any thread may read, several at once; waits for the
// disk.
//
// What is read was checked: that it lies inside its file, is as long as its type and shape say, and
// has its checksum. Nothing is allocated for what the files do not hold.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/mutex.h"
#include "millrace/io/bundle.h"
#include "millrace/io/table.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

class BundleReader {
 public:
  // Errors: NOT_FOUND if there is no index of that prefix; DATA_LOSS; UNIMPLEMENTED for one of the
  // other byte order.
  static Result<std::unique_ptr<BundleReader>> open(Files& files, std::string prefix);

  const BundleHeader& header() const { return header_; }
  const std::string& prefix() const { return prefix_; }
  // Errors: DATA_LOSS for a shard that the header does not count.
  Status check_shard(int number) const;

  // Errors: NOT_FOUND "Key <name> not found in checkpoint".
  Result<BundleEntry> entry(const std::string& name) const;
  // The whole tensor, put together if it was saved in slices.
  // Errors: as `entry`; DATA_LOSS for damaged or missing bytes; INVALID_ARGUMENT if slices do
  // not cover it.
  Result<Tensor> read(const std::string& name) const;
  // The same of what `entry` has found, and a box of it, however it was saved.
  Result<Tensor> read(const std::string& name, const BundleEntry& found) const;
  Result<Tensor> read_slice(const std::string& name, const BundleEntry& found,
                            const Slice& slice) const;
  // The messages of a tensor of variants, one for each element.
  // Errors: DATA_LOSS; INVALID_ARGUMENT if `found` is of another type.
  Result<std::vector<std::string>> read_variants(const std::string& name,
                                                 const BundleEntry& found) const;

  // `see` of all keys in order, the keys of slices among them, until it fails.
  Status each(const std::function<Status(std::string_view key, const BundleEntry&)>& see) const;
  // Of tensors only, by name.
  Result<std::map<std::string, BundleEntry>> tensors() const;

 private:
  BundleReader(Files& files, std::string prefix) : files_(files), prefix_(std::move(prefix)) {}
  struct Shard {
    std::unique_ptr<ReadableFile> file;
    uint64_t size = 0;
    std::string path;
  };
  Result<const Shard*> shard(int number) const;
  // Where the bytes of an entry are, all of them, and as many as its type and shape need.
  Result<const Shard*> shard_of(const std::string& name, const BundleEntry& entry) const;
  // One of the slices that `found` was saved in, `box` of it. Errors: DATA_LOSS if it is missing.
  Result<BundleEntry> slice_entry(const std::string& name, const BundleEntry& found,
                                  const Slice& stored, const Slice& box) const;
  // What an entry with bytes of its own says.
  Result<Tensor> read_entry(const std::string& name, const BundleEntry& entry) const;
  Result<Tensor> read_strings(const BundleEntry& entry, const Shard& shard) const;
  Status read_bytes(const BundleEntry& entry, const Shard& shard, std::span<char> into) const;

  Files& files_;
  const std::string prefix_;
  std::unique_ptr<Table> index_;
  BundleHeader header_;

  mutable Mutex mutex_;
  mutable std::map<int, Shard> shards_ MR_GUARDED_BY(mutex_);  // those that were asked for
};

}  // namespace millrace::io

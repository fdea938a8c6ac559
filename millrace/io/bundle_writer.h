// BundleWriter: writes a checkpoint of one shard of data, all or nothing.
//
//   MR_ASSIGN(auto writer, BundleWriter::create(files, "/ckpt/model-100", random));
//   MR_TRY(writer->add("weights", tensor));
//   MR_TRY(writer->finish());
//
// Data and index are written under names of their own, and get the checkpoint's names in `finish`,
// once they are whole and on the disk: the index last, because a checkpoint is there when its index
// is, and one that was there before is whole until then (bundle_place.h). Going out of scope before
// removes them. One thread; waits for the disk.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/io/bundle.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

class BundleWriter {
 public:
  // Makes the directory of `prefix` if there is none. `files` outlives this, and so does `random`,
  // which tells writers of one prefix apart.
  static Result<std::unique_ptr<BundleWriter>> create(Files& files, std::string prefix,
                                                      Random& random);
  ~BundleWriter();

  // Errors: INVALID_ARGUMENT for a name that is empty or was added before; UNIMPLEMENTED for
  // resources and variants, which have no bytes; what the disk says.
  Status add(const std::string& name, const Tensor& tensor);
  // A tensor of variants, as the messages that they are on the wire, in the order of its elements.
  // Errors: as above; INVALID_ARGUMENT if there are more or fewer than `shape` has elements.
  Status add_variants(const std::string& name, const Shape& shape,
                      std::span<const std::string> messages);
  // `tensor` is the part `slice` of a tensor of shape `whole`. Other slices of it may follow.
  // Errors: INVALID_ARGUMENT too if they overlap what is there or differ in shape or type.
  Status add_slice(const std::string& name, const Shape& whole, const Slice& slice,
                   const Tensor& tensor);
  // Nothing may be added afterwards. Errors: what the disk says; then there is no new checkpoint.
  Status finish();

 private:
  BundleWriter(Files& files, std::string prefix, Random& random);
  Status put(std::string key, const Tensor& tensor);
  Status note(std::string key, Result<BundleEntry> entry);
  Result<BundleEntry> write_data(const Tensor& tensor);
  Result<BundleEntry> write_variants(const Shape& shape, std::span<const std::string> messages);
  void remove_leavings();

  Files& files_;
  Random& random_;
  const std::string prefix_;
  const std::string data_name_, index_name_;  // until finish
  std::unique_ptr<WritableFile> data_;
  uint64_t offset_ = 0;
  std::map<std::string, BundleEntry> entries_;
  Status problem_;  // the first; nothing is written afterwards
  bool is_done_ = false;
};

// Writes `entries` as the index of `prefix`, under the name `path`, and waits for the disk.
Status write_bundle_index(Files& files, const std::string& path, int num_shards,
                          const std::map<std::string, BundleEntry>& entries);

}  // namespace millrace::io

// BundleWriter: writes a checkpoint, all or nothing.
//
//   MR_ASSIGN(auto writer, BundleWriter::create(files, "/ckpt/model-100", random));
//   MR_TRY(writer->add("weights", tensor));
//   MR_TRY(writer->finish());
//
// What is added is held until `finish`, which writes it: a small checkpoint as one shard of data, a
// large one as several, side by side (bundle_contents.h). Data and index are written under names of
// their own, and get the checkpoint's names once they are whole and on the disk: the index last,
// because a checkpoint is there when its index is, and one that was there before is whole until
// then (bundle_place.h). Going out of scope before removes them. One thread; waits for the disk.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/base/runner.h"
#include "millrace/io/bundle.h"
#include "millrace/io/bundle_contents.h"
#include "millrace/tensor/tensor.h"

namespace millrace::io {

struct BundleWriterOptions {
  // Threads that may wait for the disk as well, and outlive the writer; null: shards are written
  // one after the other.
  Runner* others = nullptr;
  uint64_t least_shard_bytes = kLeastShardBytes;  // >= 1
};

class BundleWriter {
 public:
  // Makes the directory of `prefix` if there is none. `files` outlives this, and so does `random`,
  // which tells writers of one prefix apart.
  static Result<std::unique_ptr<BundleWriter>> create(Files& files, std::string prefix,
                                                      Random& random,
                                                      const BundleWriterOptions& options = {});
  ~BundleWriter();

  // Errors: INVALID_ARGUMENT for a name that is empty or was added before; UNIMPLEMENTED for
  // resources and variants, which have no bytes.
  Status add(const std::string& name, const Tensor& tensor);
  // A tensor of variants, as the messages that they are on the wire, in the order of its elements.
  // Errors: as above; INVALID_ARGUMENT if there are more or fewer than `shape` has elements.
  Status add_variants(const std::string& name, const Shape& shape,
                      std::vector<std::string> messages);
  // `tensor` is the part `slice` of a tensor of shape `whole`. Other slices of it may follow.
  // Errors: INVALID_ARGUMENT too if they overlap what is there or differ in shape or type.
  Status add_slice(const std::string& name, const Shape& whole, const Slice& slice,
                   const Tensor& tensor);
  // Nothing may be added afterwards. Errors: what the disk says; then there is no new checkpoint.
  Status finish();

 private:
  BundleWriter(Files& files, std::string prefix, Random& random,
               const BundleWriterOptions& options);
  Status put(std::string key, const Tensor& tensor);
  Status hold(std::string key, BundleEntry entry, BundleContent content);
  void remove_leavings();

  Files& files_;
  Random& random_;
  const BundleWriterOptions options_;
  const std::string prefix_;
  const std::string index_name_;         // until it is in place
  std::vector<std::string> data_names_;  // as well, of each shard
  std::map<std::string, BundleEntry> entries_;
  std::vector<BundleContent> contents_;
  bool is_done_ = false;
};

// Writes `entries` as the index of `prefix`, under the name `path`, and waits for the disk.
Status write_bundle_index(Files& files, const std::string& path, int num_shards,
                          const std::map<std::string, BundleEntry>& entries);

}  // namespace millrace::io

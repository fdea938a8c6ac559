// FirstFormatWriter: writes one shard of a checkpoint in the first format (first_format.h), for
// programs that still read it; new ones write the second (bundle_writer.h). All or nothing, as
// there. One thread; waits for the disk in `finish`.
#pragma once

#include <map>
#include <string>

#include "millrace/base/files.h"
#include "millrace/base/random.h"
#include "millrace/io/first_format.h"

namespace millrace::io {

class FirstFormatWriter {
 public:
  // `files` outlives this.
  FirstFormatWriter(Files& files, std::string path) : files_(files), path_(std::move(path)) {}

  // Errors: INVALID_ARGUMENT for a name that is empty or was added before, or a type that the
  // format has not.
  Status add(const std::string& name, const Tensor& tensor);
  // `tensor` is the part `slice` of a tensor of shape `whole`.
  Status add_slice(const std::string& name, const Shape& whole, const Slice& slice,
                   const Tensor& tensor);
  // `random` tells writers of one path apart. Errors: what the disk says; then nothing has changed.
  Status finish(Random& random);

 private:
  struct Part {
    std::string name;
    Slice slice;
    Tensor tensor;
  };
  Status write(WritableFile& file) const;

  Files& files_;
  const std::string path_;
  ListedTensors listed_;
  std::map<std::string, Part> parts_;  // by key: in the order of the table
};

}  // namespace millrace::io

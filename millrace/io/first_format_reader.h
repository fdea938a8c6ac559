// FirstFormatReader: reads a checkpoint in the first format (first_format.h). Any thread may read,
// several at once; waits for the disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/io/first_format.h"
#include "millrace/io/table.h"

namespace millrace::io {

class FirstFormatReader {
 public:
  // `pattern` names all shards: "model", or "model-?????-of-00002".
  // Errors: NOT_FOUND if no file matches; DATA_LOSS for a file that is no such table, and for
  // shards that tell different things of a tensor.
  static Result<std::unique_ptr<FirstFormatReader>> open(Files& files, const std::string& pattern);

  const ListedTensors& tensors() const { return tensors_; }

  // The whole tensor, put together if it was saved in slices, or a box of it.
  // Errors: NOT_FOUND; DATA_LOSS; INVALID_ARGUMENT if slices do not cover it.
  Result<Tensor> read(const std::string& name) const;
  Result<Tensor> read_slice(const std::string& name, const Slice& slice) const;

 private:
  struct Shard {
    std::string path;
    std::unique_ptr<Table> table;
  };
  explicit FirstFormatReader(std::string pattern) : pattern_(std::move(pattern)) {}
  Status add_shard(Files& files, const std::string& path);
  Result<Tensor> read_stored(const std::string& name, const ListedTensor& listed,
                             const Slice& stored, const Slice& box) const;

  const std::string pattern_;
  std::vector<Shard> shards_;
  ListedTensors tensors_;
};

}  // namespace millrace::io

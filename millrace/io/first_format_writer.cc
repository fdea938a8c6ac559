#include "millrace/io/first_format_writer.h"

#include <memory>
#include <utility>

#include "millrace/io/paths.h"
#include "millrace/io/table.h"

namespace millrace::io {

Status FirstFormatWriter::add(const std::string& name, const Tensor& tensor) {
  return add_slice(name, tensor.shape(), Slice::whole(tensor.shape().rank()), tensor);
}

Status FirstFormatWriter::add_slice(const std::string& name, const Shape& whole, const Slice& slice,
                                    const Tensor& tensor) {
  if (name.empty()) return invalid("a tensor needs a name in a checkpoint");
  if (!fits_first_format(tensor.dtype())) {
    return invalid("'", name, "' is of ", dtype_name(tensor.dtype()),
                   ", which the first format of checkpoints has not; the second one has");
  }
  MR_ASSIGN(const Slice box, slice.within(whole).with(name));
  MR_ASSIGN(const Shape shape, box.shape());
  if (shape != tensor.shape()) {
    return invalid("slice '", slice.to_string(), "' of '", name, "' has shape ", shape.to_string(),
                   ", but the tensor has ", tensor.shape().to_string());
  }
  const auto [there, is_new] = listed_.try_emplace(name, ListedTensor{tensor.dtype(), whole, {}});
  ListedTensor& listed = there->second;
  if (listed.dtype != tensor.dtype() || listed.shape != whole) {
    return internal("'", name, "' is in the checkpoint as ", dtype_name(listed.dtype),
                    listed.shape.to_string(), "; a slice of ", dtype_name(tensor.dtype()),
                    whole.to_string(), " can't be added");
  }
  std::string key = slice_key(name, slice);
  if (parts_.contains(key))
    return invalid("'", name, "' is in the checkpoint already, as slice '", slice.to_string(), "'");
  listed.slices.push_back(slice);
  parts_.emplace(std::move(key), Part{name, slice, tensor});
  return {};
}

Status FirstFormatWriter::write(WritableFile& file) const {
  TableWriter table(file);
  MR_TRY(table.add("", encode_contents(listed_)));
  for (const auto& [key, part] : parts_) {
    MR_ASSIGN(const std::string bytes, encode_slice(part.name, part.slice, part.tensor));
    MR_TRY(table.add(key, bytes));
  }
  MR_TRY(table.finish());
  MR_TRY(file.sync());
  return file.close();
}

Status FirstFormatWriter::finish(Random& random) {
  if (path_.empty()) return invalid("a checkpoint needs a path; it is empty");
  MR_TRY(make_directory_of(files_, path_));
  const std::string unfinished = str_cat(path_, ".tempstate", random.next());
  auto written = [&]() -> Status {
    MR_ASSIGN(const std::unique_ptr<WritableFile> file, files_.create(unfinished));
    MR_TRY(write(*file));
    return files_.rename(unfinished, path_);
  }();
  // Nobody is left to hear of another trouble.
  if (!written.ok()) static_cast<void>(files_.remove(unfinished));
  return written;
}

}  // namespace millrace::io

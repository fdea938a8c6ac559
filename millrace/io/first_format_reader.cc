#include "millrace/io/first_format_reader.h"

#include <optional>
#include <set>
#include <utility>

#include "millrace/io/box_copy.h"
#include "millrace/io/glob.h"

namespace millrace::io {

Result<std::unique_ptr<FirstFormatReader>> FirstFormatReader::open(Files& files,
                                                                   const std::string& pattern) {
  MR_ASSIGN(const std::vector<std::string> paths, find_matching(files, pattern));
  if (paths.empty()) {
    return not_found(
        "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for ",
        pattern);
  }
  std::unique_ptr<FirstFormatReader> reader(new FirstFormatReader(pattern));
  for (const std::string& path : paths) MR_TRY(reader->add_shard(files, path));
  return reader;
}

Status FirstFormatReader::add_shard(Files& files, const std::string& path) {
  MR_ASSIGN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto opened = Table::open(std::move(file), path);
  if (!opened.ok()) {
    return error(Code::data_loss, "Unable to open table file ", path, ": ",
                 opened.status().message(),
                 ": perhaps your file is in a different file format and you need to use a "
                 "different restore operator?");
  }
  MR_ASSIGN(std::unique_ptr<Table> table, std::move(opened));
  MR_ASSIGN(const std::optional<std::string> contents, table->find(""));
  if (!contents) {
    return error(
        Code::data_loss,
        "Failed to find the saved tensor slices at the beginning of the checkpoint file: ", path);
  }
  MR_ASSIGN(ListedTensors listed, decode_contents(*contents).with(path));
  for (auto& [name, tensor] : listed) {
    const auto [there, is_new] = tensors_.try_emplace(name, tensor);
    ListedTensor& known = there->second;
    if (is_new) continue;
    if (known.dtype != tensor.dtype || known.shape != tensor.shape) {
      return error(Code::data_loss, path, " has '", name, "' as ", dtype_name(tensor.dtype),
                   tensor.shape.to_string(), "; another shard has it as ", dtype_name(known.dtype),
                   known.shape.to_string());
    }
    known.slices.insert(known.slices.end(), tensor.slices.begin(), tensor.slices.end());
  }
  shards_.push_back({path, std::move(table)});
  return {};
}

Result<Tensor> FirstFormatReader::read_stored(const std::string& name, const ListedTensor& listed,
                                              const Slice& stored, const Slice& box) const {
  const std::string key = slice_key(name, stored);
  for (const Shard& shard : shards_) {
    MR_ASSIGN(const std::optional<std::string> bytes, shard.table->find(key));
    if (!bytes) continue;
    MR_ASSIGN(const Shape shape, box.shape());
    return decode_slice(*bytes, listed.dtype, shape).with(str_cat(shard.path, ", '", name, "'"));
  }
  return error(Code::data_loss, pattern_, ": slice '", stored.to_string(), "' of '", name,
               "' is missing");
}

Result<Tensor> FirstFormatReader::read(const std::string& name) const {
  const auto found = tensors_.find(name);
  const int rank = found == tensors_.end() ? 0 : found->second.shape.rank();
  return read_slice(name, Slice::whole(rank));
}

Result<Tensor> FirstFormatReader::read_slice(const std::string& name, const Slice& slice) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return not_found("Tensor name \"", name, "\" not found in checkpoint files ", pattern_);
  }
  const ListedTensor& listed = found->second;
  MR_ASSIGN(const Slice wanted, slice.within(listed.shape).with(name));
  MR_ASSIGN(const Shape shape, wanted.shape());
  // The parts are read before the whole is allocated: it is no larger than what the files hold.
  std::vector<std::pair<Slice, Tensor>> parts;
  std::set<std::string> seen;  // who lists a slice again and again has it read once
  int64_t held = 0;
  for (const Slice& stored : listed.slices) {
    MR_ASSIGN(Slice box, stored.within(listed.shape).with(name));
    const int64_t common = num_elements(common_part(box, wanted));
    if (common == 0 && shape.num_elements() != 0) continue;
    if (!seen.insert(box.to_string()).second) continue;
    MR_ASSIGN(Tensor part, read_stored(name, listed, stored, box));
    if (box == wanted) return part;
    held += common;
    parts.emplace_back(std::move(box), std::move(part));
  }
  if (held < shape.num_elements()) {
    return invalid("the slices of '", name, "' in ", pattern_, " hold ", held, " of ",
                   shape.num_elements(), " elements of '", wanted.to_string(), "'");
  }
  MR_ASSIGN(Tensor made, Tensor::zeros(listed.dtype, shape));
  for (const auto& [box, part] : parts)
    MR_TRY(copy_elements(common_part(box, wanted), box, part, wanted, made));
  return made;
}

}  // namespace millrace::io

// Part of families.h: register_whole_files.
#include <algorithm>

#include "millrace/io/glob.h"
#include "millrace/io/paths.h"
#include "millrace/op/infer.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/files/file_kernel.h"

namespace millrace {
namespace {

Result<std::vector<Tensor>> read_file(const FileWorkplace& at, const std::vector<Tensor>& inputs) {
  MR_ASSIGN(const std::string path, scalar_text(inputs[0], "filename"));
  MR_ASSIGN(const auto file, at.files.open(path));
  // Some files say that they are empty and are not (/proc): what comes is what there is.
  constexpr size_t kPiece = 1 << 20;
  std::string bytes;
  for (;;) {
    const size_t before = bytes.size();
    bytes.resize(before + kPiece);
    MR_ASSIGN(const size_t some, file->read(before, std::span(bytes).subspan(before)));
    bytes.resize(before + some);
    if (some < kPiece) return std::vector<Tensor>{Tensor::scalar(std::move(bytes))};
  }
}

Result<std::vector<Tensor>> write_file(const FileWorkplace& at, const std::vector<Tensor>& inputs) {
  MR_ASSIGN(const std::string path, scalar_text(inputs[0], "filename"));
  MR_ASSIGN(const std::string contents, scalar_text(inputs[1], "contents"));
  MR_TRY(io::make_directory_of(at.files, path));
  MR_ASSIGN(const auto file, at.files.create(path));
  MR_TRY(file->append(contents));
  MR_TRY(file->close());
  return std::vector<Tensor>();
}

// The directory of such names is the one that the process is in, which TensorFlow writes down.
bool begins_with_wildcard(std::string_view pattern) {
  return pattern.substr(0, pattern.find('/')).find_first_of("*?[") != std::string_view::npos;
}

Result<std::vector<Tensor>> matching_files(const FileWorkplace& at,
                                           const std::vector<Tensor>& inputs) {
  if (inputs[0].shape().rank() > 1) {
    return invalid("Input patterns tensor must be scalar or vector, but had shape: ",
                   inputs[0].shape().to_string());
  }
  std::vector<std::string> all;
  for (const std::string& pattern : inputs[0].flat<std::string>()) {
    MR_ASSIGN(std::vector<std::string> found, io::find_matching(at.files, pattern));
    if (begins_with_wildcard(pattern))
      for (std::string& path : found) path.insert(0, "./");
    std::move(found.begin(), found.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end());
  return std::vector<Tensor>{Tensor::vector<std::string>(all)};
}

Status infer_matching(InferContext& context) {
  context.set_output(0, PartialShape::of_rank(1));
  return {};
}

}  // namespace

Status register_whole_files(OpRegistry& ops) {
  constexpr const char* kNoGradient = "its inputs are names and bytes";
  MR_TRY(ops.add({
      .name = "ReadFile",
      .doc = "The bytes of a file.",
      .signature = "filename: string -> contents: string",
      .infer = infer::scalar,
      .cpu = file_kernel(read_file),
      .not_differentiable = kNoGradient,
      .foldable = false,
  }));
  MR_TRY(ops.add({
      .name = "WriteFile",
      .doc = "Makes a file of contents, or puts them in the place of what it held, with the "
             "directories above it.",
      .signature = "filename: string, contents: string ->",
      .infer = infer::no_outputs,
      .cpu = file_kernel(write_file),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
  }));
  return ops.add({
      .name = "MatchingFiles",
      .doc = "The paths that a pattern, or any of several, stands for, sorted. * stands for any "
             "letters but a slash, ? for one, [abc] and [a-c] for one of those.",
      .signature = "pattern: string -> filenames: string",
      .infer = infer_matching,
      .cpu = file_kernel(matching_files),
      .not_differentiable = kNoGradient,
      .foldable = false,
  });
}

}  // namespace millrace

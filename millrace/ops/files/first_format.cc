// Part of families.h: register_first_format, checkpoints as they were before 2017.
#include "millrace/ops/files/first_format.h"

#include "millrace/io/first_format_writer.h"
#include "millrace/op/infer.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/files/file_kernel.h"

namespace millrace {
namespace {

// Inputs of Save and SaveSlices: filename, names, perhaps slices, then tensors.
enum class Saves { whole, slices };

Result<std::vector<Tensor>> save_first_format(const FileWorkplace& at,
                                              const std::vector<Tensor>& inputs, Saves what) {
  const size_t first = what == Saves::slices ? 3 : 2;
  const size_t count = inputs.size() - first;
  MR_ASSIGN(std::string path, scalar_text(inputs[0], "filename"));
  for (size_t slot = 1; slot < first; ++slot) {
    if (static_cast<size_t>(inputs[slot].num_elements()) != count) {
      return invalid(slot == 1 ? "tensor_names" : "shapes_and_slices", " has ",
                     inputs[slot].num_elements(), " elements for ", count,
                     " tensors; one each is needed");
    }
  }
  const auto names = inputs[1].flat<std::string>();
  io::FirstFormatWriter writer(at.files, path);
  for (size_t i = 0; i < count; ++i) {
    const Tensor& tensor = inputs[first + i];
    const std::string slice =
        what == Saves::slices ? inputs[2].flat<std::string>()[i] : std::string();
    if (slice.empty()) {
      MR_TRY(writer.add(names[i], tensor).with(path));
      continue;
    }
    MR_ASSIGN(const io::SliceOfShape part, io::parse_slice_of_shape(slice).with(names[i]));
    MR_TRY(writer.add_slice(names[i], part.whole, part.spelled, tensor).with(path));
  }
  MR_TRY(writer.finish(at.random).with(str_cat("saving ", path)));
  return std::vector<Tensor>();
}

Result<std::vector<Tensor>> save_whole(const FileWorkplace& at, const std::vector<Tensor>& inputs) {
  return save_first_format(at, inputs, Saves::whole);
}

Result<std::vector<Tensor>> save_slices(const FileWorkplace& at,
                                        const std::vector<Tensor>& inputs) {
  return save_first_format(at, inputs, Saves::slices);
}

// Restore and RestoreSlice; preferred_shard would only say which file to look at first.
Result<std::vector<Tensor>> restore_first_format(const FileWorkplace& at,
                                                 const std::vector<Tensor>& inputs, DType dtype) {
  MR_ASSIGN(const std::string pattern, scalar_text(inputs[0], "file_pattern"));
  MR_ASSIGN(const std::string name, scalar_text(inputs[1], "tensor_name"));
  std::string slice;
  if (inputs.size() > 2) {
    MR_ASSIGN(slice, scalar_text(inputs[2], "shape_and_slice"));
  }
  MR_ASSIGN(const auto reader, io::FirstFormatReader::open(at.files, pattern));
  MR_ASSIGN(Tensor restored, restore_of_first_format(*reader, name, slice, dtype));
  return std::vector<Tensor>{std::move(restored)};
}

Status infer_restore_slice(InferContext& context) {
  const Tensor* slice = context.constant(2);
  if (slice == nullptr || slice->num_elements() != 1) return {};
  const std::string text = slice->flat<std::string>()[0];
  if (text.empty()) return {};
  MR_ASSIGN(const io::SliceOfShape part, io::parse_slice_of_shape(text));
  MR_ASSIGN(const Shape shape, part.slice.shape());
  context.set_output(0, PartialShape(shape));
  return {};
}

}  // namespace

Result<Tensor> restore_of_first_format(const io::FirstFormatReader& reader, const std::string& name,
                                       const std::string& slice, DType dtype) {
  const auto found = reader.tensors().find(name);
  if (found == reader.tensors().end()) return reader.read(name);
  const io::ListedTensor& listed = found->second;
  if (listed.dtype != dtype) {
    return invalid("Expected to restore a tensor of type ", dtype_name(dtype),
                   ", got a tensor of type ", dtype_name(listed.dtype),
                   " instead: tensor_name = ", name);
  }
  if (slice.empty()) return reader.read(name);
  MR_ASSIGN(const io::SliceOfShape wanted, io::parse_slice_of_shape(slice).with(name));
  if (wanted.whole != listed.shape) {
    return invalid("Shape in shape_and_slice spec does not match the shape in the save file: ",
                   wanted.whole.to_string(), ", save file shape: ", listed.shape.to_string());
  }
  return reader.read_slice(name, wanted.slice);
}

Status register_first_format(OpRegistry& ops) {
  constexpr const char* kNoGradient = "a checkpoint is no function of what is trained";
  MR_TRY(ops.add({
      .name = "Save",
      .doc = "Saves tensors under tensor_names in one file of the format before 2017.",
      .signature = "filename: string, tensor_names: string, data: T -> | T: list(type) >= 1",
      .infer = infer::no_outputs,
      .cpu = file_kernel(save_whole),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  MR_TRY(ops.add({
      .name = "SaveSlices",
      .doc = "As Save; where shapes_and_slices is not empty (\"20 30 0,10:-\"), the tensor is a "
             "slice of a larger one.",
      .signature = "filename: string, tensor_names: string, shapes_and_slices: string, data: T "
                   "-> | T: list(type) >= 1",
      .infer = infer::no_outputs,
      .cpu = file_kernel(save_slices),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  MR_TRY(ops.add({
      .name = "Restore",
      .doc = "A tensor of a checkpoint of the format before 2017, whose files match file_pattern.",
      .signature = "file_pattern: string, tensor_name: string -> tensor: dt "
                   "| dt: type, preferred_shard: int = -1",
      .infer = infer::unknown,
      .cpu = file_kernel(restore_first_format, type("dt")),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  return ops.add({
      .name = "RestoreSlice",
      .doc = "As Restore, of the slice shape_and_slice of a tensor.",
      .signature = "file_pattern: string, tensor_name: string, shape_and_slice: string "
                   "-> tensor: dt | dt: type, preferred_shard: int = -1",
      .infer = infer_restore_slice,
      .cpu = file_kernel(restore_first_format, type("dt")),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  });
}

}  // namespace millrace

// Part of families.h: register_checkpoints.
#include "millrace/io/bundle_merge.h"
#include "millrace/io/bundle_reader.h"
#include "millrace/io/bundle_writer.h"
#include "millrace/io/paths.h"
#include "millrace/op/infer.h"
#include "millrace/ops/files/families.h"
#include "millrace/ops/files/file_kernel.h"
#include "millrace/ops/files/first_format.h"
#include "millrace/wire/variant_messages.h"

namespace millrace {
namespace {

// What SaveV2 and RestoreV2 are told: which tensors of which checkpoint.
struct Request {
  std::string prefix;
  std::span<const std::string> names, slices;
};

Result<Request> read_request(const std::vector<Tensor>& inputs, size_t count) {
  MR_ASSIGN(std::string prefix, scalar_text(inputs[0], "prefix"));
  constexpr std::string_view kWhat[] = {"prefix", "tensor_names", "shape_and_slices"};
  for (const size_t slot : {size_t{1}, size_t{2}}) {
    const Tensor& texts = inputs[slot];
    if (texts.shape().rank() != 1) {
      return invalid("Input ", kWhat[slot], " should be an 1-D tensor, got ",
                     texts.shape().to_string(), " instead.");
    }
    if (static_cast<size_t>(texts.num_elements()) != count) {
      return invalid(kWhat[slot], " has ", texts.num_elements(), " elements for ", count,
                     " tensors; one each is needed");
    }
  }
  return Request{std::move(prefix), inputs[1].flat<std::string>(), inputs[2].flat<std::string>()};
}

Result<std::vector<Tensor>> save(const FileWorkplace& at, const std::vector<Tensor>& inputs) {
  constexpr size_t kFirst = 3;
  const size_t count = inputs.size() - kFirst;
  MR_ASSIGN(const Request request, read_request(inputs, count));
  MR_ASSIGN(const auto writer,
            io::BundleWriter::create(at.files, request.prefix, at.random, {.others = at.others}));
  for (size_t i = 0; i < count; ++i) {
    const Tensor& tensor = inputs[kFirst + i];
    const std::string& name = request.names[i];
    if (request.slices[i].empty() && tensor.dtype() == DType::variant) {
      MR_TRY(writer->add_variants(name, tensor.shape(), wire::variant_messages(tensor))
                 .with(request.prefix));
      continue;
    }
    if (request.slices[i].empty()) {
      MR_TRY(writer->add(name, tensor).with(request.prefix));
      continue;
    }
    MR_ASSIGN(const io::SliceOfShape slice, io::parse_slice_of_shape(request.slices[i]).with(name));
    MR_TRY(writer->add_slice(name, slice.whole, slice.spelled, tensor).with(request.prefix));
  }
  MR_TRY(writer->finish().with(str_cat("saving ", request.prefix)));
  return std::vector<Tensor>();
}

Result<Tensor> restore_one(const io::BundleReader& reader, const io::BundleEntry& entry,
                           const std::string& name, const std::string& slice, DType dtype) {
  if (slice.empty() && dtype == DType::variant) {
    MR_ASSIGN(const std::vector<std::string> messages, reader.read_variants(name, entry));
    return wire::variants_of_messages(entry.shape, messages).with(name);
  }
  if (slice.empty()) return reader.read(name, entry);
  MR_ASSIGN(const io::SliceOfShape wanted, io::parse_slice_of_shape(slice).with(name));
  if (wanted.whole != entry.shape) {
    return invalid("tensor_name = ", name, "; shape in shape_and_slice spec ",
                   wanted.whole.to_string(),
                   " does not match the shape stored in checkpoint: ", entry.shape.to_string());
  }
  return reader.read_slice(name, entry, wanted.slice);
}

Result<std::vector<Tensor>> restore_first(const FileWorkplace& at, const Request& request,
                                          const std::vector<DType>& dtypes) {
  MR_ASSIGN(const auto reader, io::FirstFormatReader::open(at.files, request.prefix));
  std::vector<Tensor> restored;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    MR_ASSIGN(Tensor tensor,
              restore_of_first_format(*reader, request.names[i], request.slices[i], dtypes[i]));
    restored.push_back(std::move(tensor));
  }
  return restored;
}

Result<std::vector<Tensor>> restore(const FileWorkplace& at, const std::vector<Tensor>& inputs,
                                    const std::vector<DType>& dtypes) {
  MR_ASSIGN(const Request request, read_request(inputs, dtypes.size()));
  auto opened = io::BundleReader::open(at.files, request.prefix);
  // A checkpoint from before 2017 is read by whoever names it.
  if (opened.status().code() == Code::not_found) return restore_first(at, request, dtypes);
  MR_ASSIGN(const auto reader, std::move(opened));
  // Before any is read: what is not there is told first, as TensorFlow tells it.
  std::vector<io::BundleEntry> entries;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    MR_ASSIGN(io::BundleEntry entry, reader->entry(request.names[i]));
    entries.push_back(std::move(entry));
  }
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (entries[i].dtype == dtypes[i]) continue;
    return invalid("tensor_name = ", request.names[i], "; expected dtype ", dtype_name(dtypes[i]),
                   " does not equal original dtype ", dtype_name(entries[i].dtype));
  }
  std::vector<Tensor> restored;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    MR_ASSIGN(Tensor tensor,
              restore_one(*reader, entries[i], request.names[i], request.slices[i], dtypes[i]));
    restored.push_back(std::move(tensor));
  }
  return restored;
}

Status infer_restore(InferContext& context) {
  const Tensor* slices = context.constant(2);
  if (slices == nullptr || slices->shape().rank() != 1) return {};
  const auto texts = slices->flat<std::string>();
  if (static_cast<int>(texts.size()) != context.num_outputs()) {
    return invalid("shape_and_slices has ", texts.size(), " elements for ", context.num_outputs(),
                   " tensors");
  }
  for (int slot = 0; slot < context.num_outputs(); ++slot) {
    const std::string& text = texts[static_cast<size_t>(slot)];
    if (text.empty()) continue;
    MR_ASSIGN(const io::SliceOfShape slice, io::parse_slice_of_shape(text));
    MR_TRY(context.set_output(slot, [&]() -> Result<PartialShape> {
      MR_ASSIGN(const Shape shape, slice.slice.shape());
      return PartialShape(shape);
    }()));
  }
  return {};
}

Result<std::vector<Tensor>> merge(const FileWorkplace& at, const std::vector<Tensor>& inputs,
                                  bool deletes_old_directories, bool allows_missing) {
  MR_ASSIGN(const std::string destination, scalar_text(inputs[1], "destination_prefix"));
  std::vector<std::string> prefixes;
  for (const std::string& prefix : inputs[0].flat<std::string>()) {
    const bool is_missing =
        at.files.facts(io::index_path(prefix)).status().code() == Code::not_found;
    if (!is_missing) {
      prefixes.push_back(prefix);
    } else if (!allows_missing) {
      return invalid("there is no checkpoint ", prefix, ", and allow_missing_files is not set");
    }
  }
  MR_TRY(io::merge_bundles(at.files, prefixes, destination, at.random));
  if (!deletes_old_directories) return std::vector<Tensor>();
  const std::string kept = io::directory_of(destination);
  for (const std::string& prefix : inputs[0].flat<std::string>()) {
    const std::string directory = io::directory_of(prefix);
    if (directory.empty() || directory == kept) continue;
    // Others may still have something in it, or have removed it before.
    static_cast<void>(at.files.remove_directory(directory));
  }
  return std::vector<Tensor>();
}

BoundAttr<std::vector<DType>> types(std::string_view name) { return {name, &AttrView::types}; }

}  // namespace

Status register_checkpoints(OpRegistry& ops) {
  constexpr const char* kNoGradient = "a checkpoint is no function of what is trained";
  MR_TRY(ops.add({
      .name = "SaveV2",
      .doc = "Saves tensors under tensor_names in the checkpoint prefix, whole or, where "
             "shape_and_slices is not empty (\"20 30 0,10:-\"), as a slice of a larger tensor. The "
             "checkpoint is there once all of it is on the disk.",
      .signature =
          "prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes "
          "-> | dtypes: list(type) >= 1",
      .infer = infer::no_outputs,
      .cpu = file_kernel(save),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  MR_TRY(ops.add({
      .name = "RestoreV2",
      .doc = "Tensors of the checkpoint prefix, by name, or slices of them.",
      .signature = "prefix: string, tensor_names: string, shape_and_slices: string -> "
                   "tensors: dtypes | dtypes: list(type) >= 1",
      .infer = infer_restore,
      .cpu = file_kernel(restore, types("dtypes")),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  }));
  return ops.add({
      .name = "MergeV2Checkpoints",
      .doc =
          "Makes one checkpoint of several that hold different tensors, or slices; their data is "
          "moved.",
      .signature = "checkpoint_prefixes: string, destination_prefix: string -> | "
                   "delete_old_dirs: bool = true, allow_missing_files: bool = false",
      .infer = infer::no_outputs,
      .cpu = file_kernel(merge, boolean("delete_old_dirs"), boolean("allow_missing_files")),
      .not_differentiable = kNoGradient,
      .stateful = true,
      .foldable = false,
      .cost = Cost::heavy,
  });
}

}  // namespace millrace

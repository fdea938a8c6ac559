#include "millrace/ops/state/tensor_array_kernels.h"

#include <limits>
#include <numeric>

#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/strided_copy.h"
#include "millrace/ops/state/tensor_array.h"

namespace millrace::tensor_arrays {

namespace {

constexpr std::string_view kArrayContainer = "_tensor_arrays";

Result<std::shared_ptr<TensorArray>> find_array(KernelContext& context) {
  MR_ASSIGN(const ResourceName name, named_by_input(context, 0, TensorArray::kTypeName));
  return context.step().step_resources->find<TensorArray>(name.container, name.name);
}

// Values flow from op to op by this: each waits for the one whose flow it takes.
void set_flow(KernelContext& context, int slot) { context.set_output(slot, Tensor::scalar(0.0f)); }

// An array's handle, and its flow from the third version on.
void give_array(KernelContext& context, HandleForm form, const ResourceName& name) {
  give_handle(context, form, name, TensorArray::kTypeName);
  if (context.num_outputs() > 1) set_flow(context, 1);
}

// --- TensorArrayV3, TensorArrayGradV3 ---

class ArrayKernel final : public Kernel {
 public:
  ArrayKernel(TensorArrayOptions options, HandleForm form)
      : options_(std::move(options)), form_(form) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    TensorArrayOptions options;
    MR_ASSIGN(options.name, spec.attrs.string("tensor_array_name"));
    if (options.name.empty()) options.name = spec.node_name;
    MR_ASSIGN(options.dtype, spec.attrs.type("dtype"));
    MR_ASSIGN(options.element_shape, spec.attrs.shape("element_shape"));
    MR_ASSIGN(options.grows, spec.attrs.boolean("dynamic_size"));
    MR_ASSIGN(options.forgets_what_was_read, spec.attrs.boolean("clear_after_read"));
    MR_ASSIGN(const HandleForm form, BoundHandleForm().read(spec));
    if (form == HandleForm::resource) {
      MR_ASSIGN(options.elements_are_alike, spec.attrs.boolean("identical_element_shapes"));
    }
    return std::unique_ptr<Kernel>(std::make_unique<ArrayKernel>(std::move(options), form));
  }

  Status run(KernelContext& context) override {
    MR_ASSIGN(const int64_t size, read_integer(context.input(0), "TensorArray size"));
    ResourceStore& resources = *context.step().step_resources;
    TensorArrayOptions options = options_;
    options.name = str_cat(options_.name, resources.private_name(""));
    const ResourceName name{std::string(kArrayContainer), options.name};
    MR_ASSIGN(std::shared_ptr<TensorArray> array, TensorArray::create(std::move(options), size));
    MR_TRY(resources.add(name.container, name.name, std::move(array)));
    give_array(context, form_, name);
    return {};
  }

 private:
  const TensorArrayOptions options_;
  const HandleForm form_;
};

}  // namespace

Status find_gradient_array(KernelContext& context, const std::string& source, HandleForm form) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  std::vector<int64_t> lead;
  if (context.num_inputs() > 2) {
    MR_ASSIGN(const Shape shape, read_shape(context.input(2), "shape_to_prepend"));
    lead.assign(shape.dims().begin(), shape.dims().end());
  }
  const ResourceName name{std::string(kArrayContainer),
                          str_cat(array->options().name, "@", source)};
  const auto make = [&]() -> Result<std::shared_ptr<TensorArray>> {
    TensorArrayOptions options = array->options();
    options.name = name.name;
    options.element_shape = array->element_shape();
    if (!lead.empty() && options.element_shape.has_rank()) {
      std::vector<int64_t> dims = lead;
      const auto own = options.element_shape.dims();
      dims.insert(dims.end(), own.begin(), own.end());
      MR_ASSIGN(options.element_shape, PartialShape::create(dims));
    }
    options.grows = false;
    options.forgets_what_was_read = false;
    options.is_gradient = true;
    MR_ASSIGN(auto gradients, TensorArray::create(std::move(options), array->size()));
    MR_TRY(gradients->take_shapes_of(*array, lead));
    return gradients;
  };
  MR_TRY(
      context.step().step_resources->find_or_create<TensorArray>(name.container, name.name, make));
  give_array(context, form, name);
  return {};
}

// --- one element ---

Status write_element(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "TensorArray index"));
  MR_TRY(array->write(index, context.take_input(2)));
  set_flow(context, 0);
  return {};
}

Result<Tensor> read_element(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  MR_ASSIGN(const int64_t index, read_integer(context.input(1), "TensorArray index"));
  return array->read(index, context.output_dtype(0));
}

Result<Tensor> array_size(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  return Tensor::scalar(static_cast<int32_t>(array->size()));
}

Status close_array(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  array->close_array();
  return {};
}

// --- many elements ---

namespace {

Result<std::vector<Tensor>> read_all(TensorArray& array, std::span<const int64_t> indices,
                                     DType dtype) {
  std::vector<Tensor> elements;
  for (const int64_t index : indices) {
    MR_ASSIGN(Tensor element, array.read(index, dtype));
    elements.push_back(std::move(element));
  }
  return elements;
}

// Puts the elements one after another into `output`, which has room for exactly them.
void copy_all(const std::vector<Tensor>& elements, Tensor& output) {
  char* to = static_cast<char*>(output.mutable_data());
  for (const Tensor& element : elements) {
    copy_elements(element.dtype(), element.data(), to, element.num_elements());
    to += element.num_bytes();
  }
}

std::vector<int64_t> first_indices(int64_t count) {
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  return indices;
}

// Those that input 1 names, or all of them where there is no such input (Pack).
}  // namespace

Result<Tensor> gather_elements(KernelContext& context, const PartialShape& declared) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  std::vector<int64_t> indices;
  if (context.num_inputs() == 2) {
    indices = first_indices(array->size());
  } else {
    MR_ASSIGN(indices, read_integers(context.input(1), "indices"));
  }
  MR_TRY(array->narrow_element_shape(declared));
  MR_ASSIGN(const std::vector<Tensor> elements, read_all(*array, indices, context.output_dtype(0)));
  // Of no elements, only what is known of their shape can be given.
  const PartialShape known = array->element_shape();
  if (elements.empty() && !known.is_fully_known()) {
    return unimplemented(
        "TensorArray has size zero, but element shape ", known.to_string(),
        " is not fully defined. Currently only static shapes are supported when packing "
        "zero-size TensorArrays.");
  }
  const Shape each = elements.empty() ? *known.to_shape() : elements[0].shape();
  if (!declared.allows(each)) {
    return invalid("TensorArray was passed element_shape ", declared.to_string(),
                   " which does not match the Tensor at index 0: ", each.to_string());
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].shape() == each) continue;
    return invalid("TensorArray has inconsistent shapes. Index 0 has shape: ", each.to_string(),
                   " but index ", i, " has shape: ", elements[i].shape().to_string());
  }
  std::vector<int64_t> dims(each.dims().begin(), each.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(elements.size()));
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  copy_all(elements, output);
  return output;
}

namespace {

// Rows [begin, end) of `value` as a tensor of their own.
Result<Tensor> own_rows(const Tensor& value, int64_t begin, int64_t end) {
  MR_ASSIGN(const Tensor shared, value.rows(begin, end));
  return shared.clone();
}

Status check_has_rows(const Tensor& value) {
  if (value.shape().rank() > 0) return {};
  return invalid("Input value for unpack must be at least a vector but received shape: ",
                 value.shape().to_string());
}

// At the indices of input 1, or one after another from the first where there is none (Unpack).
}  // namespace

Status scatter_elements(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  const bool is_unpack = context.num_inputs() == 3;
  const Tensor& value = context.input(is_unpack ? 1 : 2);
  MR_TRY(check_has_rows(value));
  std::vector<int64_t> indices;
  if (is_unpack) {
    const int64_t rows = value.shape().dim(0);
    if (rows != array->size() && !(array->options().grows && rows > array->size())) {
      return invalid("TensorArray's size is not equal to the size of values (", array->size(),
                     " vs. ", rows,
                     "), and the TensorArray is not marked as dynamically resizeable");
    }
    indices = first_indices(rows);
  } else {
    MR_ASSIGN(indices, read_integers(context.input(1), "indices"));
  }
  if (static_cast<size_t>(value.shape().dim(0)) != indices.size()) {
    return invalid("Expected len(indices) == values.shape[0], but saw: ", indices.size(), " vs. ",
                   value.shape().dim(0));
  }
  MR_ASSIGN(const Shape each, Shape::create(value.shape().dims().subspan(1)));
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    MR_ASSIGN(const Tensor rows, own_rows(value, row, row + 1));
    MR_ASSIGN(Tensor element, rows.reshaped(each));
    MR_TRY(array->write(indices[i], std::move(element)));
  }
  array->note_pieces(array->size());
  set_flow(context, 0);
  return {};
}

namespace {

// What there is to join of no elements.
Status concat_nothing(KernelContext& context, const PartialShape& each) {
  const auto known = each.to_shape();
  if (!known) {
    return unimplemented("TensorArray has size zero, but element_shape_except0 ", each.to_string(),
                         " is not fully defined. Currently only static shapes are supported when "
                         "concatenating zero-size TensorArrays.");
  }
  std::vector<int64_t> dims(known->dims().begin(), known->dims().end());
  dims.insert(dims.begin(), 0);
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  context.set_output(0, std::move(output));
  context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>()));
  return {};
}

}  // namespace

Status concat_elements(KernelContext& context, const PartialShape& except0) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  const std::vector<int64_t> indices = first_indices(array->join_size());
  MR_ASSIGN(const std::vector<Tensor> elements, read_all(*array, indices, context.output_dtype(0)));
  if (elements.empty()) return concat_nothing(context, except0);
  std::vector<int64_t> dims(elements[0].shape().dims().begin(), elements[0].shape().dims().end());
  std::vector<int64_t> lengths;
  int64_t total = 0;
  for (const Tensor& element : elements) {
    if (element.shape().rank() == 0) {
      return invalid("Concat saw a scalar shape at index ", lengths.size(),
                     " but requires at least vectors.  Did you mean to call pack?");
    }
    dims[0] = element.shape().dim(0);
    if (!std::equal(dims.begin(), dims.end(), element.shape().dims().begin(),
                    element.shape().dims().end())) {
      return invalid(
          "TensorArray has inconsistent shapes. Index 0 has (excepting dimension 0) "
          "shape: ",
          elements[0].shape().to_string(), " but index ", lengths.size(),
          " has shape: ", element.shape().to_string());
    }
    lengths.push_back(dims[0]);
    total += dims[0];
  }
  dims[0] = total;
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor output, context.allocate(0, shape));
  copy_all(elements, output);
  context.set_output(0, std::move(output));
  context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>(lengths)));
  return {};
}

namespace {

// Pieces of these lengths must make up a whole of this shape.
Status check_lengths(std::span<const int64_t> lengths, const Shape& whole) {
  int64_t sum = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0) return invalid("lengths[", i, "] is ", lengths[i], ", below 0");
    if (lengths[i] > std::numeric_limits<int64_t>::max() - sum) {
      return invalid("the sum of lengths overflows at lengths[", i, "] = ", lengths[i]);
    }
    sum += lengths[i];
  }
  if (sum == whole.dim(0)) return {};
  return invalid("Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ",
                 sum, " and value's shape is: ", whole.to_string());
}

}  // namespace

Status split_elements(KernelContext& context) {
  MR_ASSIGN(const std::shared_ptr<TensorArray> array, find_array(context));
  const Tensor& value = context.input(1);
  if (context.input(2).shape().rank() != 1) {
    return invalid("Expected lengths to be a vector, received shape: ",
                   context.input(2).shape().to_string());
  }
  if (value.shape().rank() == 0) {
    return invalid("Expected value to be at least a vector, but received shape: ",
                   value.shape().to_string());
  }
  MR_ASSIGN(const std::vector<int64_t> lengths, read_integers(context.input(2), "lengths"));
  MR_TRY(check_lengths(lengths, value.shape()));
  const auto count = static_cast<int64_t>(lengths.size());
  if (count != array->size() && !(array->options().grows && count > array->size())) {
    return invalid("TensorArray's size is not equal to the size of lengths (", array->size(),
                   " vs. ", count,
                   "), and the TensorArray is not marked as dynamically resizeable");
  }
  int64_t begin = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    MR_ASSIGN(Tensor rows, own_rows(value, begin, begin + lengths[i]));
    MR_TRY(array->write(static_cast<int64_t>(i), std::move(rows)));
    begin += lengths[i];
  }
  array->note_pieces(array->size());
  set_flow(context, 0);
  return {};
}

KernelFactory make_array() { return kernel_class<ArrayKernel>(); }

}  // namespace millrace::tensor_arrays

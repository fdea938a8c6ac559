// Part of families.h: register_tensor_maps.
#include <utility>

#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/op/variant_type.h"
#include "millrace/ops/lists/families.h"
#include "millrace/ops/loops/strided_copy.h"

namespace millrace {
namespace {

// A map travels as one variant whose tensors are keys and values by turns, as TensorFlow's do. A
// value: ops take one map and give another; who looks a key up goes through all of them.
constexpr std::string_view kMapType = "tensorflow::TensorMap";

Status check_map(const Variant& map) {
  if (map.type_name != kMapType)
    return invalid("Input handle is not a map. Saw: '", map.type_name.substr(0, 100), "'");
  if (map.tensors.size() % 2 != 0)
    return invalid("a map holds ", map.tensors.size(), " tensors, so that a key lacks its value");
  for (const Tensor& tensor : map.tensors)
    if (!tensor.has_value()) return invalid("a map holds a tensor without a value");
  return {};
}

// Input 0, taken away.
Result<Variant> take_map(KernelContext& context) {
  const Tensor handle = context.take_input(0);
  if (!handle.shape().is_scalar())
    return invalid("Input map must be a scalar saw: ", handle.shape().to_string());
  Variant map = handle.item<Variant>();
  MR_TRY(check_map(map));
  return map;
}

// Where a key stands, or the end.
size_t place_of(const Variant& map, const Tensor& key) {
  size_t at = 0;
  while (at < map.tensors.size() && !(map.tensors[at] == key)) at += 2;
  return at;
}

Result<Tensor> as_tensor(Variant map) {
  MR_TRY(map.settle());
  return Tensor::scalar(std::move(map));
}

Result<Tensor> empty_map(KernelContext&) {
  Variant map;
  map.type_name = kMapType;
  return as_tensor(std::move(map));
}

Result<Tensor> map_size(KernelContext& context) {
  MR_ASSIGN(const Variant map, take_map(context));
  return Tensor::scalar(static_cast<int32_t>(map.tensors.size() / 2));
}

Result<Tensor> has_key(KernelContext& context) {
  MR_ASSIGN(const Variant map, take_map(context));
  return Tensor::scalar(place_of(map, context.input(1)) < map.tensors.size());
}

Result<Tensor> look_up(KernelContext& context) {
  MR_ASSIGN(const Variant map, take_map(context));
  const size_t at = place_of(map, context.input(1));
  if (at == map.tensors.size()) {
    return invalid("Trying to lookup non-existent key. Could not find key \"",
                   context.input(1).to_string(), "\".");
  }
  const Tensor& value = map.tensors[at + 1];
  if (value.dtype() == context.output_dtype(0)) return value;
  // The code that TensorFlow gives for a value of another type than the node told.
  return internal("'", context.node_name(), "' looks up ", dtype_name(context.output_dtype(0)),
                  ", but the map holds ", dtype_name(value.dtype()), " under this key");
}

Result<Tensor> insert_key(KernelContext& context) {
  MR_ASSIGN(Variant map, take_map(context));
  const size_t at = place_of(map, context.input(1));
  MR_ASSIGN(Tensor value, context.input(2).kept());
  if (at < map.tensors.size()) {
    map.tensors[at + 1] = std::move(value);
  } else {
    MR_ASSIGN(Tensor key, context.input(1).kept());
    map.tensors.push_back(std::move(key));
    map.tensors.push_back(std::move(value));
  }
  return as_tensor(std::move(map));
}

Result<Tensor> erase_key(KernelContext& context) {
  MR_ASSIGN(Variant map, take_map(context));
  const size_t at = place_of(map, context.input(1));
  if (at == map.tensors.size()) {
    return invalid("Trying to erase non-existent item. Could not find key \"",
                   context.input(1).to_string(), "\".");
  }
  const auto first = map.tensors.begin() + static_cast<std::ptrdiff_t>(at);
  map.tensors.erase(first, first + 2);
  return as_tensor(std::move(map));
}

Result<Tensor> stack_keys(KernelContext& context) {
  MR_ASSIGN(const Variant map, take_map(context));
  if (map.tensors.empty()) return invalid("TensorMapStackKeys cannot be called on empty map.");
  const Shape& each = map.tensors[0].shape();
  std::vector<int64_t> dims{static_cast<int64_t>(map.tensors.size() / 2)};
  dims.insert(dims.end(), each.dims().begin(), each.dims().end());
  MR_ASSIGN(const Shape shape, Shape::create(dims));
  MR_ASSIGN(Tensor keys, context.allocate(0, shape));
  char* to = static_cast<char*>(keys.mutable_data());
  for (size_t i = 0; i < map.tensors.size(); i += 2) {
    const Tensor& key = map.tensors[i];
    if (key.dtype() != keys.dtype()) return invalid("Key does not match requested dtype.");
    if (key.shape() != each) {
      return invalid("Keys must all have the same shape. TensorMapStackKeys found ",
                     each.to_string(), " and ", key.shape().to_string());
    }
    copy_elements(key.dtype(), key.data(), to, key.num_elements());
    to += key.num_bytes();
  }
  return keys;
}

// --- as a type of variants ---

Result<Variant> zeros_like_map(const Variant& of, TensorArithmetic& tensors) {
  MR_TRY(check_map(of));
  Variant made = of;
  for (size_t i = 1; i < made.tensors.size(); i += 2) {
    MR_ASSIGN(made.tensors[i], tensors.zeros_like(of.tensors[i]));
  }
  return made;
}

// A key of one map alone keeps its value.
Result<Variant> sum_of_maps(const Variant& a, const Variant& b, TensorArithmetic& tensors) {
  MR_TRY(check_map(a));
  MR_TRY(check_map(b));
  Variant sum = a;
  for (size_t i = 0; i < b.tensors.size(); i += 2) {
    const size_t at = place_of(sum, b.tensors[i]);
    if (at == sum.tensors.size()) {
      sum.tensors.push_back(b.tensors[i]);
      sum.tensors.push_back(b.tensors[i + 1]);
    } else {
      MR_ASSIGN(sum.tensors[at + 1], tensors.sum(sum.tensors[at + 1], b.tensors[i + 1]));
    }
  }
  MR_TRY(sum.settle());
  return sum;
}

Status add_map_op(OpRegistry& ops, std::string name, std::string doc, std::string signature,
                  InferFn infer, KernelFactory cpu) {
  return ops.add({.name = std::move(name),
                  .doc = std::move(doc),
                  .signature = std::move(signature),
                  .infer = std::move(infer),
                  .cpu = std::move(cpu),
                  .not_differentiable = "a map says of no value where its gradient goes",
                  .foldable = false});
}

}  // namespace

Status register_tensor_maps(OpRegistry& ops) {
  MR_TRY(ops.add_variant({.type_name = std::string(kMapType),
                          .plural = "tensor maps",
                          .zeros_like = zeros_like_map,
                          .sum = sum_of_maps}));
  MR_TRY(add_map_op(ops, "EmptyTensorMap", "A map from tensors to tensors, with nothing in it.",
                    "-> handle: variant", infer::scalar, kernel(empty_map)));
  MR_TRY(add_map_op(ops, "TensorMapSize", "How many keys a map has.",
                    "input_handle: variant -> size: int32", infer::scalar, kernel(map_size)));
  MR_TRY(add_map_op(ops, "TensorMapHasKey", "Whether a map has a key.",
                    "input_handle: variant, key: key_dtype -> has_key: bool | key_dtype: type",
                    infer::scalar, kernel(has_key)));
  MR_TRY(add_map_op(ops, "TensorMapLookup", "The value of a key of a map.",
                    "input_handle: variant, key: key_dtype -> value: value_dtype | "
                    "key_dtype: type, value_dtype: type",
                    infer::unknown, kernel(look_up)));
  MR_TRY(add_map_op(ops, "TensorMapInsert", "The map with a value for a key, in place of the old.",
                    "input_handle: variant, key: key_dtype, value: value_dtype -> "
                    "output_handle: variant | key_dtype: type, value_dtype: type",
                    infer::scalar, kernel(insert_key)));
  MR_TRY(add_map_op(ops, "TensorMapErase", "The map without a key, which it must have.",
                    "input_handle: variant, key: key_dtype -> output_handle: variant | "
                    "key_dtype: type, value_dtype: type",
                    infer::scalar, kernel(erase_key)));
  return add_map_op(ops, "TensorMapStackKeys", "The keys of a map, which must be alike, stacked.",
                    "input_handle: variant -> keys: key_dtype | key_dtype: type", infer::unknown,
                    kernel(stack_keys));
}

}  // namespace millrace

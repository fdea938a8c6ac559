// What the ops of tensor lists share: how they are described and what their kernels know. By what
// they do they stand in
//
//   tensor_lists.cc       lists of elements: make one, push, pop, set, get, resize
//   tensor_list_rows.cc   the rows of a tensor become elements of lists
//   tensor_list_joins.cc  elements of a list become one tensor
//   tensor_list_arithmetic.cc  zeros like a list, and the sum of two
//   tensor_list_gradients.cc   how gradients flow through them
#pragma once

#include <string>

#include "millrace/op/bind.h"
#include "millrace/op/infer.h"
#include "millrace/op/registry.h"
#include "millrace/ops/lists/tensor_list.h"

namespace millrace {

// The dtype of elements, which not all nodes say, for kernel_with().
struct ElementType {
  Result<DType> read(const KernelSpec& spec) const;
};

// An op of lists with its gradient, or the words why it has none.
OpDef with_gradient(OpDef op);

OpDef list_op(std::string name, std::string doc, std::string signature, InferFn infer,
              KernelFactory cpu);

// A kernel that runs `run(context, dtype of elements)`; invalid if the node does not say which.
template <class Run>
KernelFactory list_kernel(Run run) {
  return kernel_with(run, ElementType());
}

// The first output is a list: a scalar. Of what comes out of a list nothing is known.
Status infer_list(InferContext& context);

// The attributes of most ops that make a list.
inline constexpr std::string_view kListTypes = "element_dtype: type, shape_type: {int32, int64}";

VariantType tensor_list_type();
Status register_list_rows(OpRegistry& ops);
Status register_list_joins(OpRegistry& ops);

}  // namespace millrace

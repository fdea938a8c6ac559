// Part of tensor_list_ops.h: how gradients flow through lists. The gradient of a list is a list of
// the same length, whose elements are the gradients of its elements; what is not set is zeros.
#include "absl/container/flat_hash_map.h"

#include "millrace/op/gradient.h"
#include "millrace/ops/lists/tensor_list_ops.h"

namespace millrace {
namespace {

// What a node's gradient is made of, with the node's own type of elements.
class Made {
 public:
  explicit Made(GradContext& context) : g_(context) {
    const AttrValue* type = context.attrs().find("element_dtype");
    dtype_ = type != nullptr && type->as_type() ? *type->as_type() : DType::invalid;
  }

  Endpoint op(std::string_view name, std::initializer_list<Endpoint> inputs, Attrs more = {}) {
    more.set("element_dtype", dtype_);
    return g_.add(name, inputs, std::move(more));
  }
  // A list's own element_shape and length, in the types that its makers take.
  Endpoint element_shape(Endpoint list) {
    Attrs attrs;
    attrs.set("shape_type", DType::i32);
    return g_.add("TensorListElementShape", {list}, std::move(attrs));
  }
  Endpoint length(Endpoint list) { return g_.add("TensorListLength", {list}); }
  Endpoint zeros_like(Endpoint tensor) { return g_.add("ZerosLike", {tensor}); }
  // The shape of a tensor's rows.
  Endpoint row_shape(Endpoint tensor) {
    return g_.add("Slice", {g_.shape_node(tensor), ints({1}), ints({-1})});
  }
  Endpoint ints(std::initializer_list<int32_t> values) {
    Attrs attrs;
    attrs.set("value", Tensor::of<int32_t>({static_cast<int64_t>(values.size())}, values));
    attrs.set("dtype", DType::i32);
    return g_.add("Const", {}, std::move(attrs));
  }

 private:
  GradContext& g_;
  DType dtype_;
};

Status through_push(GradContext& g) {
  const Endpoint popped = Made(g).op("TensorListPopBack", {g.grad(), g.shape_node(g.input(1))});
  g.set_input_grad(0, popped);
  g.set_input_grad(1, Endpoint{popped.node, 1});
  return {};
}

Status through_pop(GradContext& g) {
  g.set_input_grad(0, Made(g).op("TensorListPushBack", {g.grad(0), g.grad(1)}));
  return {};
}

Status through_get(GradContext& g) {
  Made made(g);
  const Endpoint list = g.input(0);
  const Endpoint empty =
      made.op("TensorListReserve", {made.element_shape(list), made.length(list)});
  g.set_input_grad(0, made.op("TensorListSetItem", {empty, g.input(1), g.grad()}));
  return {};
}

Status through_set(GradContext& g) {
  Made made(g);
  const Endpoint index = g.input(1), item = g.input(2);
  if (g.is_needed(0))
    g.set_input_grad(0, made.op("TensorListSetItem", {g.grad(), index, made.zeros_like(item)}));
  if (g.is_needed(2))
    g.set_input_grad(2, made.op("TensorListGetItem", {g.grad(), index, g.shape_node(item)}));
  return {};
}

Status through_resize(GradContext& g) {
  g.set_input_grad(0, g.add("TensorListResize", {g.grad(), Made(g).length(g.input(0))}));
  return {};
}

Status through_stack(GradContext& g) {
  Made made(g);
  g.set_input_grad(0, made.op("TensorListFromTensor", {g.grad(), made.element_shape(g.input(0))}));
  return {};
}

Status through_rows(GradContext& g) {
  Made made(g);
  g.set_input_grad(0, made.op("TensorListStack", {g.grad(), made.row_shape(g.input(0))}));
  return {};
}

Status through_gather(GradContext& g) {
  Made made(g);
  const Endpoint list = g.input(0);
  g.set_input_grad(0, made.op("TensorListScatterV2",
                              {g.grad(), g.input(1), made.element_shape(list), made.length(list)}));
  return {};
}

Status through_scatter(GradContext& g) {
  Made made(g);
  const Endpoint rows = g.input(0);
  g.set_input_grad(0, made.op("TensorListGather", {g.grad(), g.input(1), made.row_shape(rows)}));
  return {};
}

Status through_scatter_into(GradContext& g) {
  Made made(g);
  const Endpoint rows = g.input(1), indices = g.input(2);
  if (g.is_needed(0))
    g.set_input_grad(0, made.op("TensorListScatterIntoExistingList",
                                {g.grad(), made.zeros_like(rows), indices}));
  if (g.is_needed(1))
    g.set_input_grad(1, made.op("TensorListGather", {g.grad(), indices, made.row_shape(rows)}));
  return {};
}

Status through_concat(GradContext& g) {
  Made made(g);
  g.set_input_grad(
      0, made.op("TensorListSplit", {g.grad(0), made.element_shape(g.input(0)), g.output(1)}));
  return {};
}

Status through_split(GradContext& g) {
  Made made(g);
  Attrs join;
  join.set("N", int64_t{2});
  const Endpoint any =
      g.add("ConcatV2", {made.ints({-1}), made.row_shape(g.input(0)), g.scalar(DType::i32, 0)},
            std::move(join));
  g.set_input_grad(0, made.op("TensorListConcatV2", {g.grad(), any, g.input(2)}));
  return {};
}

constexpr std::string_view kNoElements = "its list has no elements yet";
constexpr std::string_view kNoValues = "it gives no elements";
constexpr std::string_view kNotInTensorFlow = "TensorFlow says so";

}  // namespace

OpDef with_gradient(OpDef op) {
  struct Backwards {
    GradFn grad = nullptr;
    std::string_view why_not = {};
  };
  static const auto* const kAll = new absl::flat_hash_map<std::string_view, Backwards>{
      {"EmptyTensorList", {.why_not = kNoElements}},
      {"TensorListReserve", {.why_not = kNoElements}},
      {"TensorListPushBack", {.grad = through_push}},
      {"TensorListPopBack", {.grad = through_pop}},
      {"TensorListLength", {.why_not = kNoValues}},
      {"TensorListElementShape", {.why_not = kNoValues}},
      {"TensorListGetItem", {.grad = through_get}},
      {"TensorListSetItem", {.grad = through_set}},
      {"TensorListResize", {.grad = through_resize}},
      {"TensorListConcatLists", {.why_not = kNotInTensorFlow}},
      {"TensorListPushBackBatch", {.why_not = kNotInTensorFlow}},
      {"TensorListStack", {.grad = through_stack}},
      {"TensorListFromTensor", {.grad = through_rows}},
      {"TensorListGather", {.grad = through_gather}},
      {"TensorListScatter", {.grad = through_scatter}},
      {"TensorListScatterV2", {.grad = through_scatter}},
      {"TensorListScatterIntoExistingList", {.grad = through_scatter_into}},
      {"TensorListConcat", {.grad = through_concat}},
      {"TensorListConcatV2", {.grad = through_concat}},
      {"TensorListSplit", {.grad = through_split}},
  };
  if (const auto found = kAll->find(op.name); found != kAll->end()) {
    op.grad = found->second.grad;
    op.not_differentiable = found->second.why_not;
  }
  return op;
}

}  // namespace millrace

#include "millrace/ops/testing/eager_gradient.h"

#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr NodeId kInputs = 0, kOutputs = 1, kArriving = 2;

class EagerGradient final : public GradContext {
 public:
  EagerGradient(const OpRegistry& ops, const OpDef& op, const Attrs& attrs,
                std::vector<std::vector<Tensor>> given, Told told)
      : ops_(ops), op_(op), attrs_(attrs), values_(std::move(given)), told_(told) {
    gradients_.resize(values_[kInputs].size());
  }

  AttrView attrs() const override { return {op_, attrs_}; }
  int num_inputs() const override { return static_cast<int>(values_[kInputs].size()); }
  int num_outputs() const override { return static_cast<int>(values_[kOutputs].size()); }
  Endpoint input(int slot) const override { return {kInputs, slot}; }
  Endpoint output(int slot) const override { return {kOutputs, slot}; }
  DType dtype(Endpoint of) const override {
    return of.node == kNoNode ? DType::invalid : value(of).dtype();
  }
  // A rank is told in any case: some gradients can't do without.
  PartialShape shape(Endpoint of) const override {
    if (of.node == kNoNode) return {};
    if (told_ == Told::everything) return value(of).shape();
    return PartialShape::of_rank(value(of).shape().rank());
  }
  std::optional<Tensor> constant(Endpoint of) const override {
    if (of.node != kInputs) return std::nullopt;
    return value(of);
  }
  bool has_grad(int slot) const override { return is_floating(dtype(output(slot))); }
  Endpoint grad(int slot) override { return {kArriving, slot}; }
  std::optional<IndexedSlices> sparse_grad(int) const override { return std::nullopt; }
  bool is_needed(int slot) const override { return is_floating(dtype(input(slot))); }
  void set_input_grad(int slot, Endpoint gradient) override {
    gradients_[static_cast<size_t>(slot)] = gradient;
  }
  void set_input_grad(int slot, IndexedSlices gradient) override {
    const Endpoint one = vector({1});
    const Endpoint rows = add("StridedSlice", {gradient.dense_shape, vector({0}), one, one},
                              {{"shrink_axis_mask", int64_t{1}}});
    set_input_grad(slot, add("UnsortedSegmentSum", {gradient.values, gradient.indices, rows}));
  }

  std::vector<std::optional<Tensor>> gradients() const {
    std::vector<std::optional<Tensor>> made;
    for (const std::optional<Endpoint>& gradient : gradients_) {
      made.emplace_back();
      if (gradient) made.back() = value(*gradient);
    }
    return made;
  }

 private:
  const Tensor& value(Endpoint of) const {
    return values_[of.node][static_cast<size_t>(of.output)];
  }

  Result<Endpoint> make(std::string_view op, std::span<const Endpoint> inputs,
                        Attrs attrs) override {
    std::vector<Tensor> tensors;
    for (const Endpoint& input : inputs) tensors.push_back(value(input));
    MR_ASSIGN(std::vector<Tensor> outputs,
              run_op(ops_, op, std::move(tensors), std::move(attrs)).with(op));
    values_.push_back(std::move(outputs));
    return Endpoint{static_cast<NodeId>(values_.size() - 1), 0};
  }

  const OpRegistry& ops_;
  const OpDef& op_;
  const Attrs& attrs_;
  std::vector<std::vector<Tensor>> values_;  // by node
  const Told told_;
  std::vector<std::optional<Endpoint>> gradients_;
};

}  // namespace

Result<std::vector<std::optional<Tensor>>> eager_gradient(const OpRegistry& ops,
                                                          std::string_view op, const Attrs& attrs,
                                                          std::vector<Tensor> inputs,
                                                          std::vector<Tensor> outputs,
                                                          std::vector<Tensor> arriving, Told told) {
  const OpDef* def = ops.find(op);
  if (def == nullptr || def->grad == nullptr) return not_found(op, " has no gradient");
  EagerGradient context(ops, *def, attrs,
                        {std::move(inputs), std::move(outputs), std::move(arriving)}, told);
  MR_TRY(def->grad(context));
  MR_TRY(context.status());
  return context.gradients();
}

}  // namespace millrace

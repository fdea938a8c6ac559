// Part of lower_forms.h: For is a counted loop (counted_loop.h) after checks of its bounds, which
// plain nodes compute, as the bounds are values of the step.
#include "millrace/plan/counted_loop.h"

namespace millrace {
namespace {

class Bounds {
 public:
  Bounds(Inliner& inliner, const Caller& caller) : inliner_(inliner), caller_(caller) {}

  Result<Count> count() && {
    // In a branch or an iteration the constants below must be there as often as the bounds.
    const auto& before = caller_.node.control_inputs;
    MR_ASSIGN(given_, inliner_.add_identity(caller_, "given", caller_.node.inputs[0],
                                            {before.begin(), before.end()}));
    const std::vector<Endpoint> bounds{given_, caller_.node.inputs[1], caller_.node.inputs[2]};
    MR_TRY(check_scalars(bounds));
    MR_ASSIGN(const Endpoint start, widened(bounds[0]));
    MR_ASSIGN(const Endpoint limit, widened(bounds[1]));
    MR_ASSIGN(const Endpoint delta, widened(bounds[2]));
    MR_ASSIGN(count_.sign, add("sign", "Sign", {delta}));
    MR_TRY(check_direction(bounds, start, limit));
    MR_ASSIGN(count_.first, add("first", "Mul", {start, count_.sign}));
    MR_ASSIGN(count_.end, add("end", "Mul", {limit, count_.sign}));
    MR_ASSIGN(count_.step, add("step", "Abs", {delta}));
    return std::move(count_);
  }

 private:
  Result<Endpoint> add(std::string_view part, std::string_view op, std::vector<Endpoint> inputs,
                       Attrs attrs = {}, std::vector<NodeId> before = {}) {
    MR_ASSIGN(const NodeId id, inliner_.add({.name = inliner_.name_for(caller_, part),
                                             .op = op,
                                             .inputs = std::move(inputs),
                                             .control_inputs = std::move(before),
                                             .attrs = std::move(attrs),
                                             .device = caller_.node.requested_device()}));
    return Endpoint{id, 0};
  }

  Result<Endpoint> constant(std::string_view part, Tensor value) {
    Attrs attrs{{"dtype", value.dtype()}};
    attrs.set("value", std::move(value));
    return add(part, "Const", {}, std::move(attrs), {given_.node});
  }

  // Sums and products of what fits int32 fit int64.
  Result<Endpoint> widened(Endpoint bound) {
    return add("wide", "Cast", {bound}, {{"DstT", DType::i64}}, count_.checks);
  }

  Status check(Endpoint holds, std::string text, const std::vector<Endpoint>& values) {
    MR_ASSIGN(const Endpoint words, constant("words", Tensor::scalar(std::move(text))));
    std::vector<Endpoint> inputs{holds, words};
    inputs.insert(inputs.end(), values.begin(), values.end());
    MR_ASSIGN(const Endpoint check, add("check", "Assert", std::move(inputs)));
    count_.checks.push_back(check.node);
    return {};
  }

  Status check_scalars(const std::vector<Endpoint>& bounds) {
    std::vector<Endpoint> ranks, shapes;
    for (const Endpoint& bound : bounds) {
      MR_ASSIGN(const Endpoint rank, add("rank", "Rank", {bound}));
      ranks.push_back(rank);
      MR_ASSIGN(const Endpoint shape, add("shape", "Shape", {bound}));
      shapes.push_back(shape);
    }
    MR_ASSIGN(const Endpoint sum, add("ranks", "AddN", std::move(ranks)));
    MR_ASSIGN(const Endpoint none, constant("none", Tensor::scalar(0)));
    MR_ASSIGN(const Endpoint holds, add("are_scalars", "Equal", {sum, none}));
    return check(
        holds,
        str_cat("For '", caller_.node.name,
                "': each of start, limit and delta must be a scalar; they have the shapes"),
        shapes);
  }

  // The limit is where the steps lead, or no step is needed.
  Status check_direction(const std::vector<Endpoint>& bounds, Endpoint start, Endpoint limit) {
    MR_ASSIGN(const Endpoint span, add("span", "Sub", {limit, start}));
    MR_ASSIGN(const Endpoint way, add("way", "Sign", {span}));
    MR_ASSIGN(const Endpoint nowhere, constant("nowhere", Tensor::scalar(int64_t{0})));
    MR_ASSIGN(const Endpoint is_there, add("is_there", "Equal", {way, nowhere}));
    MR_ASSIGN(const Endpoint leads, add("leads", "Equal", {way, count_.sign}));
    MR_ASSIGN(const Endpoint holds, add("holds", "LogicalOr", {is_there, leads}));
    return check(holds,
                 str_cat("For '", caller_.node.name,
                         "': delta does not lead from start to limit. Invalid start/limit/delta"),
                 bounds);
  }

  Inliner& inliner_;
  const Caller& caller_;
  Endpoint given_;  // start, once the node may run
  Count count_;
};

}  // namespace

Result<Lowered> lower_for(Inliner& inliner, const Caller& caller) {
  MR_ASSIGN(const Count count, Bounds(inliner, caller).count());
  return lower_counted(inliner, caller, count);
}

}  // namespace millrace

// Part of lower_forms.h: While is a loop of TensorFlow 1 around the bodies of its two functions,
// and so is For around the body of one and a count (counted_loop.h).
//
//   input -> Enter -> Merge -> Switch -> Exit -> output
//                     ^   |     ^  |
//                     |   v     |  +---> body --+
//                     |  cond --+               |
//                     +---- NextIteration <-----+   ^effects of the body
//
// Resources stay what they are: they enter once for all iterations.
#include "millrace/plan/counted_loop.h"

namespace millrace {
namespace {

class FunctionalLoop {
 public:
  FunctionalLoop(Inliner& inliner, const Caller& caller) : inliner_(inliner), caller_(caller) {}

  Result<Lowered> build() && {
    const Node& node = caller_.node;
    MR_ASSIGN(const FunctionRef cond, function_attr(node, "cond"));
    MR_ASSIGN(parallel_, node.attr_view().integer("parallel_iterations"));
    if (parallel_ < 1) return invalid("parallel_iterations must be > 0, and is ", parallel_);
    MR_TRY(add_variables());
    MR_TRY(add_cond(cond));
    return finish();
  }

  Result<Lowered> build(const Count& count) && {
    count_ = count;
    MR_TRY(add_counter());
    MR_TRY(add_variables());
    MR_ASSIGN(const NodeId goes_on, add("goes_on", "Less", {counter(), count_->end}));
    MR_TRY(add_loop_cond({goes_on, 0}, {}));
    return finish();
  }

 private:
  Result<Lowered> finish() {
    MR_ASSIGN(const FunctionRef body, function_attr(caller_.node, "body"));
    MR_TRY(add_switches());
    MR_TRY(add_body(body));
    return add_exits();
  }

  static constexpr size_t kConstant = ~size_t{0};
  static constexpr int64_t kParallel = 10;  // While's default, for a loop that can't say

  // What changes from iteration to iteration.
  struct Variable {
    NodeId merge = kNoNode;
    NodeId switch_ = kNoNode;
    std::string device;
  };

  // What goes through the functions; a count comes before it.
  size_t first_input() const { return count_ ? kCountInputs : 0; }
  Endpoint counter() const { return {variables_[0].merge, 0}; }

  Result<NodeId> add(std::string_view part, std::string_view op, std::vector<Endpoint> inputs,
                     Attrs attrs = {}) {
    return inliner_.add({.name = inliner_.name_for(caller_, part),
                         .op = op,
                         .inputs = std::move(inputs),
                         .attrs = std::move(attrs),
                         .device = caller_.node.requested_device()});
  }

  // The loop's first variable is the count; what it is held against enters once.
  Status add_counter() {
    MR_TRY(add_variable(count_->first, count_->checks));
    for (Endpoint* held : {&count_->end, &count_->step, &count_->sign}) {
      MR_ASSIGN(const NodeId enter, add_enter(*held, {}, Enters::all_iterations));
      *held = {enter, 0};
    }
    return {};
  }

  std::vector<NodeId> control_inputs() const {
    return {caller_.node.control_inputs.begin(), caller_.node.control_inputs.end()};
  }

  Status add_variables() {
    const Node& node = caller_.node;
    std::vector<NodeId> before;
    if (!node.control_inputs.empty()) {
      MR_ASSIGN(const NodeId begin, inliner_.add_no_op(caller_, "begin", control_inputs()));
      before = {begin};
    }
    if (count_) before.insert(before.end(), count_->checks.begin(), count_->checks.end());
    for (size_t i = first_input(); i < node.inputs.size(); ++i) {
      if (node.input_types()[i].dtype == DType::resource) {
        MR_ASSIGN(const NodeId enter, add_enter(node.inputs[i], before, Enters::all_iterations));
        constants_.push_back({enter, 0});
        variable_of_.push_back(kConstant);
      } else {
        constants_.emplace_back();
        variable_of_.push_back(variables_.size());
        MR_TRY(add_variable(node.inputs[i], before));
      }
    }
    has_turn_ = variables_.empty();
    return has_turn_ ? add_turn(std::move(before)) : Status();
  }

  // A loop over resources alone: something must go round.
  Status add_turn(std::vector<NodeId> before) {
    if (before.empty() && !caller_.node.inputs.empty()) {
      MR_ASSIGN(const Endpoint given,
                inliner_.add_identity(caller_, "given", caller_.node.inputs[0], {}));
      before = {given.node};
    }
    MR_ASSIGN(const NodeId zero,
              inliner_.add({.name = inliner_.name_for(caller_, "turn"),
                            .op = "Const",
                            .control_inputs = before,
                            .attrs = {{"dtype", DType::i32}, {"value", Tensor::scalar(0)}},
                            .device = caller_.node.requested_device()}));
    return add_variable({zero, 0}, before);
  }

  enum class Enters : uint8_t { first_iteration, all_iterations };
  Result<NodeId> add_enter(Endpoint source, std::vector<NodeId> before, Enters enters) {
    Attrs attrs{{"frame_name", caller_.node.name}, {"parallel_iterations", parallel_}};
    if (enters == Enters::all_iterations) attrs.set("is_constant", true);
    return inliner_.add({.name = inliner_.name_for(caller_, "enter"),
                         .op = "Enter",
                         .inputs = {source},
                         .control_inputs = std::move(before),
                         .attrs = std::move(attrs),
                         .device = inliner_.graph()[source.node].requested_device()});
  }

  Status add_variable(Endpoint source, std::vector<NodeId> before) {
    MR_ASSIGN(const NodeId enter, add_enter(source, std::move(before), Enters::first_iteration));
    Variable variable;
    variable.device = inliner_.graph()[enter].requested_device();
    MR_ASSIGN(variable.merge, inliner_.add({.name = inliner_.name_for(caller_, "merge"),
                                            .op = "Merge",
                                            .inputs = {{enter, 0}, Endpoint{}},
                                            .device = variable.device}));
    variables_.push_back(std::move(variable));
    return {};
  }

  Status add_cond(const FunctionRef& function) {
    std::vector<Endpoint> inputs;
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      inputs.push_back(variable_of_[i] == kConstant
                           ? constants_[i]
                           : Endpoint{variables_[variable_of_[i]].merge, 0});
    }
    MR_ASSIGN(Lowered cond, inliner_.add_body(caller_, {.part = "cond",
                                                        .function = function,
                                                        .inputs = std::move(inputs),
                                                        .outputs = std::nullopt,
                                                        .after = variables_[0].merge,
                                                        .effects = effects_}));
    if (cond.outputs.size() != 1) {
      return invalid("function '", function.name,
                     "' is a condition: Expected a single scalar return value, got ",
                     cond.outputs.size(), " tensors.");
    }
    MR_ASSIGN(const Endpoint goes_on, as_bool(inliner_, caller_, cond.outputs[0]));
    return add_loop_cond(goes_on, std::move(cond.effects));
  }

  Status add_loop_cond(Endpoint goes_on, std::vector<NodeId> before) {
    MR_ASSIGN(loop_cond_, inliner_.add({.name = inliner_.name_for(caller_, "loop_cond"),
                                        .op = "LoopCond",
                                        .inputs = {goes_on},
                                        .control_inputs = std::move(before),
                                        .device = caller_.node.requested_device()}));
    return {};
  }

  Status add_switches() {
    for (Variable& variable : variables_) {
      MR_ASSIGN(variable.switch_, inliner_.add({.name = inliner_.name_for(caller_, "switch"),
                                                .op = "Switch",
                                                .inputs = {{variable.merge, 0}, {loop_cond_, 0}},
                                                .device = variable.device}));
    }
    return {};
  }

  Status add_body(const FunctionRef& function) {
    MR_ASSIGN(const Endpoint pivot,
              inliner_.add_identity(caller_, "pivot", {variables_[0].switch_, 1}, {}));
    std::vector<Endpoint> inputs;
    if (count_) {
      MR_ASSIGN(const NodeId signed_count, add("signed_count", "Mul", {pivot, count_->sign}));
      MR_ASSIGN(const NodeId index,
                add("index", "Cast", {{signed_count, 0}}, {{"DstT", DType::i32}}));
      inputs.push_back({index, 0});
    }
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      if (variable_of_[i] != kConstant) {
        inputs.push_back({variables_[variable_of_[i]].switch_, 1});
        continue;
      }
      // A constant is there when an iteration begins, even if it is to be none.
      MR_ASSIGN(const Endpoint held,
                inliner_.add_identity(caller_, "resource", constants_[i], {pivot.node}));
      inputs.push_back(held);
    }
    const std::string known_as = str_cat(caller_.node.op->name, " loop body");
    MR_ASSIGN(const Lowered body,
              inliner_.add_body(caller_, {.part = "body",
                                          .function = function,
                                          .inputs = std::move(inputs),
                                          .outputs = caller_.node.output_types(),
                                          .known_as = known_as,
                                          .after = pivot.node,
                                          .effects = effects_}));
    if (count_) {
      MR_ASSIGN(const NodeId next, add("next_count", "AddV2", {pivot, count_->step}));
      MR_TRY(close(variables_[0], {next, 0}, body.effects));
    }
    if (has_turn_) return close(variables_[0], pivot, body.effects);
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      if (variable_of_[i] == kConstant) continue;
      MR_TRY(close(variables_[variable_of_[i]], body.outputs[i], body.effects));
    }
    return {};
  }

  Status close(const Variable& variable, Endpoint next, const std::vector<NodeId>& effects) {
    MR_ASSIGN(const NodeId iteration, inliner_.add({.name = inliner_.name_for(caller_, "next"),
                                                    .op = "NextIteration",
                                                    .inputs = {next},
                                                    .control_inputs = effects,
                                                    .device = variable.device}));
    return inliner_.graph().set_input(variable.merge, 1, {iteration, 0});
  }

  Result<Lowered> add_exits() {
    std::vector<Endpoint> exits;
    Lowered lowered;
    for (const Variable& variable : variables_) {
      MR_ASSIGN(const NodeId exit, inliner_.add({.name = inliner_.name_for(caller_, "exit"),
                                                 .op = "Exit",
                                                 .inputs = {{variable.switch_, 0}},
                                                 .device = variable.device}));
      exits.push_back({exit, 0});
      lowered.effects.push_back(exit);
    }
    for (size_t i = 0; i < variable_of_.size(); ++i) {
      lowered.outputs.push_back(variable_of_[i] == kConstant
                                    ? caller_.node.inputs[first_input() + i]
                                    : exits[variable_of_[i]]);
    }
    return lowered;
  }

  Inliner& inliner_;
  const Caller& caller_;
  const Inliner::Effects effects_ =
      asks_for_lowering(caller_.node) ? Inliner::Effects::declared : Inliner::Effects::all;
  int64_t parallel_ = kParallel;
  std::optional<Count> count_;       // of a loop that counts; in its frame once it has a counter
  std::vector<Variable> variables_;  // the counter first, if there is one
  std::vector<size_t>
      variable_of_;  // by what goes through the functions: into variables_, or kConstant
  std::vector<Endpoint> constants_;  // likewise: the Enter of a resource
  bool has_turn_ = false;            // the only variable is our own
  NodeId loop_cond_ = kNoNode;
};

}  // namespace

Result<Lowered> lower_while(Inliner& inliner, const Caller& caller) {
  return FunctionalLoop(inliner, caller).build();
}

Result<Lowered> lower_counted(Inliner& inliner, const Caller& caller, const Count& count) {
  return FunctionalLoop(inliner, caller).build(count);
}

}  // namespace millrace

// Part of lower_forms.h: If and Case are a switch for each input, the bodies of the branches and a
// merge for each output.
//
//   index ----> Switch -> pivot 0 ----> nodes of body 0 that wait for nothing
//                      -> pivot 1 ----> …
//   input ----> Switch ------> body 0 -----> Merge ----> output
//     index ----^      ------> body 1 ---------^
//   pivot 0 -> Identity ^effects of body 0 ---> Merge: the node has run
//   pivot 1 -> Identity ^effects of body 1 -------^
#include <span>

#include "millrace/plan/lower_forms.h"

namespace millrace {
namespace {

class BranchBuilder {
 public:
  BranchBuilder(Inliner& inliner, const Caller& caller, std::vector<FunctionRef> functions,
                std::vector<std::string> parts, std::vector<std::string> devices = {})
      : inliner_(inliner),
        caller_(caller),
        functions_(std::move(functions)),
        parts_(std::move(parts)),
        devices_(std::move(devices)) {}

  // `index` decides which branch is taken: a bool or an int32, by the op of the switches.
  Result<Lowered> build(Endpoint index, std::string_view switch_op) && {
    index_ = index;
    switch_op_ = switch_op;
    const Node& node = caller_.node;
    if (!node.control_inputs.empty()) {
      // All else depends on the index.
      const std::vector<NodeId> before(node.control_inputs.begin(), node.control_inputs.end());
      MR_ASSIGN(index_, inliner_.add_identity(caller_, "index", index, before));
    }
    MR_TRY(add_pivots());
    MR_TRY(add_switches());
    for (size_t branch = 0; branch < functions_.size(); ++branch) MR_TRY(add_branch(branch));
    return merge();
  }

 private:
  Result<NodeId> add_switch(Endpoint value, std::string_view device) {
    Attrs attrs;
    if (switch_op_ == "_SwitchN") attrs.set("num_outs", static_cast<int64_t>(functions_.size()));
    // Who hands on a variable does not read it: it may have no value as long as the branch that
    // wants it is not taken.
    const ArgType type =
        inliner_.graph()[value.node].output_types()[static_cast<size_t>(value.output)];
    const bool hands_on = switch_op_ == "Switch" && type.is_ref;
    return inliner_.add({.name = inliner_.name_for(caller_, "switch"),
                         .op = hands_on ? "RefSwitch" : switch_op_,
                         .inputs = {value, index_},
                         .attrs = std::move(attrs),
                         .device = device});
  }

  Status add_pivots() {
    MR_ASSIGN(const NodeId chooser, add_switch(index_, caller_.node.requested_device()));
    for (size_t branch = 0; branch < functions_.size(); ++branch) {
      MR_ASSIGN(
          const Endpoint pivot,
          inliner_.add_identity(caller_, "pivot", {chooser, static_cast<int32_t>(branch)}, {}));
      pivots_.push_back(pivot);
    }
    return {};
  }

  Status add_switches() {
    for (const Endpoint& input : std::span(caller_.node.inputs).subspan(1)) {
      MR_ASSIGN(const NodeId id,
                add_switch(input, inliner_.graph()[input.node].requested_device()));
      switches_.push_back(id);
    }
    return {};
  }

  Status add_branch(size_t branch) {
    std::vector<Endpoint> inputs;
    for (NodeId id : switches_) inputs.push_back({id, static_cast<int32_t>(branch)});
    MR_ASSIGN(Lowered body,
              inliner_.add_body(caller_of(branch), {.part = parts_[branch],
                                                    .function = functions_[branch],
                                                    .inputs = std::move(inputs),
                                                    .outputs = caller_.node.output_types(),
                                                    .after = pivots_[branch].node,
                                                    .effects = asks_for_lowering(caller_.node)
                                                                   ? Inliner::Effects::declared
                                                                   : Inliner::Effects::all}));
    outputs_.push_back(std::move(body.outputs));
    Endpoint ran = pivots_[branch];
    if (!body.effects.empty()) {
      MR_ASSIGN(ran, inliner_.add_identity(caller_, "ran", ran, std::move(body.effects)));
    }
    ran_.push_back(ran);
    return {};
  }

  // Whoever calls the branch: from its device, if the branches have some.
  Caller caller_of(size_t branch) {
    if (devices_.empty()) return caller_;
    Graph& graph = inliner_.graph();
    graph.set_requested_device(caller_.node.id, devices_[branch]);
    Caller there{graph[caller_.node.id], caller_.origin};
    graph.set_requested_device(caller_.node.id, caller_.node.requested_device());
    return there;
  }

  Result<Endpoint> add_merge(std::vector<Endpoint> values) {
    MR_ASSIGN(const NodeId id, inliner_.add({.name = inliner_.name_for(caller_, "merge"),
                                             .op = "Merge",
                                             .inputs = std::move(values),
                                             .device = caller_.node.requested_device()}));
    return Endpoint{id, 0};
  }

  Result<Lowered> merge() {
    Lowered lowered;
    for (size_t i = 0; i < caller_.node.output_types().size(); ++i) {
      std::vector<Endpoint> values;
      for (const auto& outputs : outputs_) values.push_back(outputs[i]);
      MR_ASSIGN(const Endpoint merged, add_merge(std::move(values)));
      lowered.outputs.push_back(merged);
    }
    MR_ASSIGN(const Endpoint ran, add_merge(ran_));
    lowered.effects = {ran.node};
    if (asks_for_lowering(caller_.node)) return lowered;
    for (Endpoint& output : lowered.outputs) {
      MR_ASSIGN(output, inliner_.add_identity(caller_, "output", output, {ran.node}));
    }
    return lowered;
  }

  Inliner& inliner_;
  const Caller& caller_;
  const std::vector<FunctionRef> functions_;
  const std::vector<std::string> parts_;
  const std::vector<std::string> devices_;  // of the branches; none: the caller's
  Endpoint index_;
  std::string_view switch_op_;
  std::vector<Endpoint> pivots_;
  std::vector<NodeId> switches_;                // of inputs
  std::vector<std::vector<Endpoint>> outputs_;  // of branches
  std::vector<Endpoint> ran_;                   // alive once a branch ran
};

}  // namespace

Result<Lowered> lower_if(Inliner& inliner, const Caller& caller) {
  MR_ASSIGN(FunctionRef otherwise, function_attr(caller.node, "else_branch"));
  MR_ASSIGN(FunctionRef then, function_attr(caller.node, "then_branch"));
  MR_ASSIGN(const Endpoint condition, as_bool(inliner, caller, caller.node.inputs[0]));
  return BranchBuilder(inliner, caller, {std::move(otherwise), std::move(then)}, {"else", "then"})
      .build(condition, "Switch");
}

Result<Lowered> lower_case(Inliner& inliner, const Caller& caller) {
  const AttrValue* value = caller.node.attr_view().find("branches");
  const auto* functions = value ? value->as_list_of<FunctionRef>() : nullptr;
  if (functions == nullptr || functions->empty()) return invalid("it has no branches");
  std::vector<std::string> parts;
  for (size_t i = 0; i < functions->size(); ++i) parts.push_back(str_cat("branch", i));
  return BranchBuilder(inliner, caller, *functions, std::move(parts))
      .build(caller.node.inputs[0], "_SwitchN");
}

Result<Lowered> lower_choice(Inliner& inliner, const Caller& caller,
                             std::vector<std::string> devices) {
  MR_ASSIGN(const FunctionRef function, function_attr(caller.node, "f"));
  MR_ASSIGN(const NodeId index,
            inliner.add({.name = inliner.name_for(caller, "device"),
                         .op = "_RemoteDevice",
                         .inputs = {caller.node.inputs[0]},
                         .attrs = {{"devices", devices},
                                   {"within", std::string(caller.node.requested_device())}},
                         .device = caller.node.requested_device()}));
  std::vector<std::string> parts;
  for (size_t i = 0; i < devices.size(); ++i) parts.push_back(str_cat("on", i));
  std::vector<FunctionRef> functions(devices.size(), function);
  return BranchBuilder(inliner, caller, std::move(functions), std::move(parts), std::move(devices))
      .build({index, 0}, "_SwitchN");
}

}  // namespace millrace

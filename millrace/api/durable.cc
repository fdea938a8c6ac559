#include "millrace/api/durable.h"

#include "millrace/api/build_state.h"
#include "millrace/op/durable.h"

namespace millrace {

Output durable(Output resource) {
  if (!resource.has_value()) return resource;
  BuildState& state = *resource.op().state();
  const Node& node = state.builder->graph()[resource.op().id()];
  Status set = can_be_durable(node.op->name)
                   ? state.builder->set_attr(resource.op().id(), kDurable, true)
                   : invalid("a ", node.op->name,
                             " can't be durable; variables and queues can, where they are made");
  if (!set.ok() && state.error.ok()) state.error = set.with(node.name);
  return resource;
}

}  // namespace millrace

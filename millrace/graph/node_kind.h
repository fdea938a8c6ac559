// What nodes of one op with the same attributes have in common. Few nodes of a graph differ in it
// (all additions of floats are alike), so a graph keeps it once, and nodes share it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "millrace/base/result.h"
#include "millrace/op/attrs.h"
#include "millrace/op/op_def.h"

namespace millrace {

using TypeList = absl::InlinedVector<ArgType, 2>;

struct NodeKind {
  Attrs attrs;
  TypeList input_types;  // as the op declares them for these attributes
  TypeList output_types;
};

// The kinds of one graph. Copies share the kinds. A value; not thread-safe.
class NodeKinds {
 public:
  using Shared = std::shared_ptr<const NodeKind>;

  // The kind that nodes of `op` with these attributes have. Errors: INVALID_ARGUMENT for attributes
  // that the op can't have.
  Result<Shared> of(const OpDef& op, Attrs attrs);
  // The same for what another graph has checked.
  Shared of(const OpDef& op, const Shared& kind);
  // Lets go of kinds that no node has any more, once there may be many.
  void forget_unused();

 private:
  using Key = std::pair<const OpDef*, size_t>;  // the hash of the attributes

  absl::flat_hash_map<Key, Shared> kinds_;  // of two with one hash, the first
  size_t num_used_ = 0;                     // when they were last counted
};

}  // namespace millrace

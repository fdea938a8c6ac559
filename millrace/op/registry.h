// OpRegistry: the ops that a program knows, and the types of variants that they can do arithmetic
// on; filled explicitly at start (ops/all.h) and read-only afterwards. Nodes keep pointers into it,
// so it outlives every graph.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/mutex.h"
#include "millrace/base/result.h"
#include "millrace/op/op_def.h"
#include "millrace/op/variant_type.h"

namespace millrace {

class OpRegistry {
 public:
  OpRegistry() = default;
  OpRegistry(const OpRegistry&) = delete;
  OpRegistry& operator=(const OpRegistry&) = delete;

  // Parses the signature and keeps the op.
  // Errors: ALREADY_EXISTS for a second op of the name; INVALID_ARGUMENT for a bad signature.
  Status add(OpDef op);
  // Gives an op that is there a kernel for devices of another type than CPU.
  // Errors: NOT_FOUND for an op that is not there; ALREADY_EXISTS for a second kernel of a type.
  Status add_kernel(std::string_view op, std::string device_type, KernelFactory make);
  // Says what the ops can do with variants of a type. Errors: ALREADY_EXISTS.
  Status add_variant(VariantType type) { return variants_.add(std::move(type)); }
  // Kernels may keep the reference; what is added later is in it, too.
  const VariantTypes& variants() const { return variants_; }
  // Null if unknown. The pointer stays valid as long as the registry.
  const OpDef* find(std::string_view name) const;
  // An op that only other tasks know, as a graph uses it: `op` has its name, and arguments of fixed
  // types. Equal ones are one. `find` does not know it. Any thread. The pointer stays valid as long
  // as the registry, so that graphs could fill the memory. Errors: RESOURCE_EXHAUSTED for too many.
  Result<const OpDef*> foreign(OpDef op) const;
  // All ops in order of names.
  std::vector<const OpDef*> all() const;
  size_t size() const { return ops_.size(); }
  // Up to three known names close to an unknown one, for error messages.
  std::vector<std::string> suggestions(std::string_view name) const;

 private:
  using Ops = absl::flat_hash_map<std::string, std::unique_ptr<OpDef>>;

  Ops ops_;
  VariantTypes variants_;
  mutable Mutex mutex_;
  mutable Ops foreign_ MR_GUARDED_BY(mutex_);  // by all that tells them apart
  mutable size_t foreign_bytes_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

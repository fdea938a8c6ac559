// OpRegistry: the ops that a program knows, and the types of variants that they can do arithmetic
// on; filled explicitly at start (ops/all.h) and read-only afterwards. Nodes keep pointers into it,
// so it outlives every graph.
#pragma once

#include <atomic>
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
  // While one lives, add() leaves signatures as they are, and each is read when its op is first
  // asked for: a program uses some dozens of 1,500 ops, and reading all of them was half of what
  // it did before its first step. For ops whose signatures a test has read, by check().
  class LeavesUnread {
   public:
    explicit LeavesUnread(OpRegistry& ops) : ops_(ops) { ops_.leaves_unread_ = true; }
    ~LeavesUnread() { ops_.leaves_unread_ = false; }
    LeavesUnread(const LeavesUnread&) = delete;
    LeavesUnread& operator=(const LeavesUnread&) = delete;

   private:
    OpRegistry& ops_;
  };
  // Reads what was left unread. Errors: INVALID_ARGUMENT for a bad signature, whose op is unknown.
  Status check() const;
  // Gives an op that is there a kernel for devices of another type than CPU.
  // Errors: NOT_FOUND for an op that is not there; ALREADY_EXISTS for a second kernel of a type.
  Status add_kernel(std::string_view op, std::string device_type, KernelFactory make);
  // Says what the ops can do with variants of a type. Errors: ALREADY_EXISTS.
  Status add_variant(VariantType type) { return variants_.add(std::move(type)); }
  // Kernels may keep the reference; what is added later is in it, too.
  const VariantTypes& variants() const { return variants_; }
  // Null if unknown. Any thread. The pointer stays valid as long as the registry.
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
  struct Entry {
    OpDef op;
    std::atomic<bool> is_read = false;  // then nothing changes any more but `kernels`
  };

  Status read(Entry& entry) const;

  absl::flat_hash_map<std::string, std::unique_ptr<Entry>> ops_;
  VariantTypes variants_;
  bool leaves_unread_ = false;
  mutable Mutex mutex_;  // held to read a signature, too
  mutable absl::flat_hash_map<std::string, std::unique_ptr<OpDef>> foreign_ MR_GUARDED_BY(
      mutex_);  // by all that tells them apart
  mutable size_t foreign_bytes_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace

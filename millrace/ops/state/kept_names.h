// KeptNames: which queues and variables of a device are to be kept on the disk: a list to which
// kernels add what they make, and which whoever keeps the state (kept_state.h) reads.
//
// Among the resources of a device whose task keeps its state, in a container of its own; on others
// there is none, and what is made there is never looked at again. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/done.h"
#include "millrace/base/mutex.h"
#include "millrace/op/durable.h"
#include "millrace/op/resource.h"
#include "millrace/ops/state/kept_records.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {

class KeptNames final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "names that are kept";
  static constexpr std::string_view kContainer = "_kept";

  struct Noted {
    KeptKind kind;
    std::string container, name;
    // Gone if it never came among the resources, because another maker was faster.
    std::weak_ptr<Resource> made;
  };

  explicit KeptNames(Keep keep = Keep::all) : keep_(keep) {}

  // Null if the device's state is not kept.
  static std::shared_ptr<KeptNames> of(const ResourceStore& resources);
  // Those to which the resource of this name belongs, whose node `asks` to be kept, or not; null if
  // it is not to be kept. Errors: FAILED_PRECONDITION if it asks, and nothing is kept here.
  static Result<std::shared_ptr<KeptNames>> to_note(const ResourceStore& resources,
                                                    std::string_view name, bool asks);

  // UNIMPLEMENTED for what can't be kept: variants and resource handles.
  Status check(DType type) const;
  // Noting again what has been noted changes nothing.
  void note(KeptKind kind, const ResourceStore& resources, const ResourceName& name,
            const std::shared_ptr<Resource>& made);
  std::vector<Noted> take_noted();

  // Answers once all that was changed before is on the disk: for what has to be there before others
  // hear of it, within a step. Errors: the disk's; CANCELLED if the task has ended.
  void commit(Done<void> done) const { commit_(std::move(done)); }
  using Commit = std::function<void(Done<void>)>;
  // Before anybody else knows of this.
  void commit_with(Commit commit) { commit_ = std::move(commit); }

  std::string description() const override { return "queues and variables that are kept"; }

 private:
  const Keep keep_;
  Commit commit_;  // set once
  Mutex mutex_;
  std::vector<Noted> noted_ MR_GUARDED_BY(mutex_);
};

// The variable of that name, made if there is none. It is kept from now on if the device keeps all,
// or if it `asks`, be it that another node made it that did not. Errors: as KeptNames::to_note and
// KeptNames::check.
Result<std::shared_ptr<StoredVariable>> shared_variable(ResourceStore& resources,
                                                        const ResourceName& name, DType dtype,
                                                        const PartialShape& shape, bool asks);

}  // namespace millrace

#include "millrace/ops/state/kept_names.h"

#include <utility>

namespace millrace {

std::shared_ptr<KeptNames> KeptNames::of(const ResourceStore& resources) {
  auto found = resources.find<KeptNames>(kContainer, "");
  return found.ok() ? *std::move(found) : nullptr;
}

Status KeptNames::check(DType type) const {
  if (can_be_kept(type)) return {};
  return unimplemented("the state of this task is kept on its disk, where there is no form for ",
                       dtype_name(type), "; put it on a task that was started without --state");
}

void KeptNames::note(KeptKind kind, const ResourceStore& resources, const ResourceName& name,
                     const std::shared_ptr<Resource>& made) {
  const std::string& container =
      name.container.empty() ? resources.default_container() : name.container;
  MutexLock lock(mutex_);
  noted_.push_back({kind, container, name.name, made});
}

std::vector<KeptNames::Noted> KeptNames::take_noted() {
  MutexLock lock(mutex_);
  return std::exchange(noted_, {});
}

Result<std::shared_ptr<Variable>> new_variable(const ResourceStore& resources,
                                               const ResourceName& name, DType dtype,
                                               PartialShape shape) {
  auto made = std::make_shared<Variable>(name.name, dtype, std::move(shape));
  if (const std::shared_ptr<KeptNames> names = KeptNames::of(resources)) {
    MR_TRY(names->check(dtype).with(name.name));
    names->note(KeptKind::variable, resources, name, made);
  }
  return made;
}

}  // namespace millrace

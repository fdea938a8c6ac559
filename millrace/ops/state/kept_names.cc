#include "millrace/ops/state/kept_names.h"

#include <utility>

namespace millrace {

std::shared_ptr<KeptNames> KeptNames::of(const ResourceStore& resources) {
  auto found = resources.find<KeptNames>(kContainer, "");
  return found.ok() ? *std::move(found) : nullptr;
}

Result<std::shared_ptr<KeptNames>> KeptNames::to_note(const ResourceStore& resources,
                                                      std::string_view name, bool asks) {
  std::shared_ptr<KeptNames> names = of(resources);
  if (asks && names == nullptr) {
    return failed_precondition(
        "'", name,
        "' is to be kept (durable=True), and its task keeps nothing: put it on a server ",
        "that was started with --state DIR, or MILLRACE_STATE=DIR (with --state-keeps asked it "
        "keeps ",
        "what asks for it, and nothing else), in a session without isolate_session_state");
  }
  if (names != nullptr && names->keep_ == Keep::asked && !asks) return nullptr;
  return names;
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

Result<std::shared_ptr<StoredVariable>> shared_variable(ResourceStore& resources,
                                                        const ResourceName& name, DType dtype,
                                                        const PartialShape& shape, bool asks) {
  MR_ASSIGN(const std::shared_ptr<KeptNames> names, KeptNames::to_note(resources, name.name, asks));
  if (names != nullptr) MR_TRY(names->check(dtype).with(name.name));
  const auto make = [&]() -> Result<std::shared_ptr<StoredVariable>> {
    return std::make_shared<StoredVariable>(name.name, dtype, shape);
  };
  MR_ASSIGN(std::shared_ptr<StoredVariable> found,
            resources.find_or_create<StoredVariable>(name.container, name.name, make));
  if (names == nullptr || found->is_kept()) return found;
  MR_TRY(names->check(found->dtype()).with(name.name));
  // Noted first: who sees that it is kept may change it, and be acknowledged.
  names->note(KeptKind::variable, resources, name, found);
  found->keep();
  return found;
}

}  // namespace millrace

#include "millrace/ops/data/dataset.h"

#include <utility>

namespace millrace::data {

std::shared_ptr<GraphFunction> IterationHost::Instances::find(const CapturedFunction& function) {
  for (const Instance& instance : by_name[function.function.name]) {
    if (instance.space == function.space && instance.attrs == function.function.attrs)
      return instance.function;
  }
  return nullptr;
}

Status IterationHost::check_stateless() const {
  std::vector<std::pair<std::shared_ptr<FunctionSpace>, FunctionRef>> functions;
  {
    MutexLock lock(instances_->mutex);
    for (const auto& [name, instances] : instances_->by_name) {
      for (const Instance& instance : instances)
        functions.push_back({instance.space, {name, instance.attrs}});
    }
  }
  for (const auto& [space, function] : functions) MR_TRY(space->check_stateless(function));
  return {};
}

Result<std::shared_ptr<GraphFunction>> IterationHost::instance(const CapturedFunction& function,
                                                               size_t arguments) {
  const std::string& name = function.function.name;
  std::shared_ptr<GraphFunction> found;
  {
    MutexLock lock(instances_->mutex);
    found = instances_->find(function);
  }
  if (found == nullptr) {
    if (function.space == nullptr)
      return not_found("Function ", name, " is not defined: the graph did not bring it");
    MR_ASSIGN(found, function.space->instantiate(function.function));
    MutexLock lock(instances_->mutex);
    if (auto first = instances_->find(function)) {
      found = std::move(first);
    } else {
      instances_->by_name[name].push_back({function.space, function.function.attrs, found});
    }
  }
  const size_t given = arguments + function.captured.size();
  if (found->argument_types().size() == given) return found;
  return invalid("function '", name, "' takes ", found->argument_types().size(),
                 " arguments and is given ", given, ": ", arguments, " of an element and ",
                 function.captured.size(), " captured ones");
}

}  // namespace millrace::data

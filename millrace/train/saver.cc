#include "millrace/train/saver.h"

#include <algorithm>
#include <map>
#include <utility>

#include "millrace/api/ops/array.h"
#include "millrace/api/ops/exchange.h"
#include "millrace/api/ops/files.h"
#include "millrace/api/ops/state.h"
#include "millrace/train/checkpoint_state.h"
#include "millrace/train/node_scopes.h"

namespace millrace {
namespace {

Output texts(const Scope& scope, std::string_view name, const std::vector<std::string>& values) {
  return constant(scope.with_name(name), Tensor::vector<std::string>(values));
}

struct Held {
  std::vector<Operation> takings;
  InputList values;  // of each variable
};

// Staging areas, one on each device, that take the values in one step and give them in another.
Held hold(const Scope& inside, const std::vector<Variable>& variables) {
  std::map<std::string, std::vector<size_t>> of_device;
  for (size_t i = 0; i < variables.size(); ++i) of_device[variables[i].device()].push_back(i);
  Held held;
  std::vector<Output> values(variables.size());
  for (const auto& [device, mine] : of_device) {
    const Scope here = inside.colocated_with(variables[mine.front()].op());
    InputList references;
    std::vector<DType> dtypes;
    for (const size_t i : mine) {
      references.emplace_back(variables[i].reference);
      dtypes.push_back(variables[i].dtype());
    }
    // By the graph's names: a program that starts again finds the area, and drops what it holds.
    const std::string area = claim_inside(inside, "values");
    const Operation cleared = ops::stage_clear(here, dtypes, {.shared_name = area});
    held.takings.push_back(ops::stage(here.after({cleared}), references, {.shared_name = area}));
    const std::vector<Output> given = ops::unstage(here, dtypes, {.shared_name = area});
    if (!inside.status().ok()) return held;
    for (size_t i = 0; i < mine.size(); ++i) values[mine[i]] = given[i];
  }
  held.values = InputList(values.begin(), values.end());
  return held;
}

std::string saving(const std::string& path) { return str_cat("saving '", path, "'"); }

}  // namespace

Saver::Saver(const VariableScope& scope, SaverOptions options)
    : max_to_keep_(options.max_to_keep), background_(options.background) {
  std::vector<Variable> variables = std::move(options.variables);
  if (variables.empty()) variables = scope.collections().global_variables;
  std::ranges::sort(variables, {},
                    [](const Variable& each) { return std::pair(each.saved_name, each.slice); });
  const Scope inside = lifted(scope).named("save");
  if (variables.empty()) inside.fail(invalid("no variables to save"), "Saver");
  if (!inside.status().ok()) return;
  const Output usual = constant(inside.named("filename").with_name("input"), "model");
  const Output path = ops::placeholder_with_default(
      inside.with_name("Const"),
      ops::placeholder_with_default(inside.with_name("filename"), usual, PartialShape::scalar()),
      PartialShape::scalar());
  std::vector<std::string> names, slices;
  std::vector<DType> dtypes;
  InputList values;
  for (const Variable& variable : variables) {
    if (!is_given(inside, variable, "a variable to save")) return;
    names.push_back(variable.saved_name);
    slices.push_back(variable.slice);
    dtypes.push_back(variable.dtype());
    values.emplace_back(variable.reference);
  }
  const Scope of_save = inside.named("SaveV2");
  const Output tensor_names = texts(of_save, "tensor_names", names);
  const Output shape_and_slices = texts(of_save, "shape_and_slices", slices);
  const Operation saved =
      ops::save_v2(inside.with_name("SaveV2"), path, tensor_names, shape_and_slices, values);
  const Scope here = inside.device("/device:CPU:0");
  const Scope of_restore = here.named("RestoreV2");
  const std::vector<Output> read =
      ops::restore_v2(here.with_name("RestoreV2"), path, texts(of_restore, "tensor_names", names),
                      texts(of_restore, "shape_and_slices", slices), dtypes);
  if (!inside.status().ok()) return;
  std::vector<Operation> restored;
  for (size_t i = 0; i < variables.size(); ++i) {
    const Scope beside = inside.with_name("Assign").colocated_with(variables[i].op());
    restored.push_back(ops::assign(beside, variables[i].reference, read[i]).op());
  }
  if (background_ != nullptr) {
    const Scope apart = inside.named("held");
    const Held held = hold(apart, variables);
    if (!inside.status().ok()) return;
    taken_name_ = group(apart, held.takings, claim_inside(apart, "take")).name();
    held_saved_name_ =
        ops::save_v2(apart.with_name("SaveV2"), path, tensor_names, shape_and_slices, held.values)
            .name();
  }
  if (!inside.status().ok()) return;
  path_name_ = path.name();
  saved_name_ = saved.name();
  restored_name_ = group(inside, restored, claim_inside(inside, "restore_all")).name();
}

Result<std::string> Saver::save(Session& session, Files& files, const std::string& prefix,
                                std::optional<int64_t> step) {
  if (saved_name_.empty()) return failed_precondition("the graph of this Saver has an error");
  MR_TRY(wait());
  const std::string path = step ? str_cat(prefix, "-", *step) : prefix;
  if (background_ != nullptr) {
    MR_TRY(write_aside(session, files, path).with(saving(path)));
    return path;
  }
  MR_TRY(session.run({{path_name_, Tensor::scalar(path)}}, {}, {.targets = {saved_name_}})
             .status()
             .with(saving(path)));
  MR_TRY(note(files, path));
  return path;
}

Status Saver::write_aside(Session& session, Files& files, const std::string& path) {
  MR_TRY(session.run({}, {}, {.targets = {taken_name_}}).status());
  // A callable may outlive its session, should that be lost.
  MR_ASSIGN(Callable write,
            session.make_callable({path_name_}, {}, {.targets = {held_saved_name_}}));
  under_way_.start(*background_, [this, &files, path, write = std::move(write)]() -> Status {
    MR_TRY(write({Tensor::scalar(path)}).status().with(saving(path)));
    return note(files, path);
  });
  return {};
}

Status Saver::restore(Session& session, const std::string& path) {
  if (restored_name_.empty()) return failed_precondition("the graph of this Saver has an error");
  return session.run({{path_name_, Tensor::scalar(path)}}, {}, {.targets = {restored_name_}})
      .status()
      .with(str_cat("restoring '", path, "'"));
}

Status Saver::adopt(Files& files, const std::string& folder) {
  settle();
  const auto known = known_checkpoints(files, folder);
  if (known.status().code() == Code::not_found) return {};
  MR_TRY(known.status());
  kept_.assign(known->begin(), known->end());
  return {};
}

// The folder's file tells first, so that it never names what has been removed.
Status Saver::note(Files& files, const std::string& path) {
  std::erase(kept_, path);
  kept_.push_back(path);
  std::vector<std::string> old;
  while (max_to_keep_ > 0 && std::ssize(kept_) > max_to_keep_) {
    old.push_back(kept_.front());
    kept_.pop_front();
  }
  MR_TRY(write_checkpoint_state(files, {kept_.begin(), kept_.end()}));
  for (const std::string& each : old) MR_TRY(remove_checkpoint(files, each));
  return {};
}

}  // namespace millrace

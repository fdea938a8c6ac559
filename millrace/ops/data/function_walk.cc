#include "millrace/ops/data/function_walk.h"

#include "millrace/ops/data/iterator.h"

namespace millrace::data {

Result<WalkFunction> WalkFunction::create(const HostPtr& host, const CapturedPtr& captured,
                                          size_t arguments, const std::vector<DType>& gives) {
  MR_ASSIGN(auto function, host->instance(*captured, arguments));
  const std::vector<DType>& made = function->result_types();
  const std::string& name = captured->function.name;
  if (made.size() != gives.size())
    return invalid("function '", name, "' gives ", made.size(), " values; its dataset has ",
                   gives.size(), " components");
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i] == gives[i]) continue;
    return invalid("function '", name, "' gives ", dtype_name(made[i]), " as value ", i,
                   "; the dataset says ", dtype_name(gives[i]));
  }
  return WalkFunction{captured, std::move(function)};
}

Result<bool> scalar_bool(const Element& results, std::string_view what) {
  if (results.size() == 1 && results[0].dtype() == DType::boolean && results[0].num_elements() == 1)
    return results[0].item<bool>();
  return invalid(what, " must return a scalar bool.");
}

Result<int64_t> scalar_int64(const Element& results, std::string_view what) {
  if (results.size() == 1 && results[0].dtype() == DType::i64 && results[0].num_elements() == 1)
    return results[0].item<int64_t>();
  return invalid(what, " must return a scalar int64.");
}

Result<OwnedWalk> OwnedWalk::along(const Element& results, const std::vector<DType>& gives,
                                   const HostPtr& host) {
  if (results.size() != 1)
    return invalid("Function must return a single scalar of dtype DT_VARIANT, not ", results.size(),
                   " values.");
  OwnedWalk made;
  MR_ASSIGN(made.dataset, dataset_in(results[0]));
  if (made.dataset->components().types != gives)
    MR_TRY(check_components({gives, {}}, made.dataset->components())
               .with("the dataset that a function gave"));
  const int depth = host->depth() + depth_in(results[0]);
  if (depth > kMostDeep)
    return invalid("datasets that functions of datasets give lie more than ", kMostDeep,
                   " deep in each other: does a function give a dataset that calls it again?");
  MR_ASSIGN(made.iterator, made.dataset->iterate(host->within(depth)));
  return made;
}

}  // namespace millrace::data

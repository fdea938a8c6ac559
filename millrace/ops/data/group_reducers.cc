// Part of families.h: register_dataset_group_reducers, all elements of one key made one.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"

namespace millrace::data {
namespace {

struct ReducerFunctions {
  WalkFunction key, init, reduce, finalize;
};

// Reads all of its input before it gives anything: an element for each key, in the keys' order.
class GroupReducing final : public DatasetIterator {
 public:
  GroupReducing(IteratorPtr input, ReducerFunctions functions)
      : input_(std::move(input)), functions_(std::move(functions)) {}

  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      if (!call_.is_under_way()) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        MR_ASSIGN(const Next next, begin_call(pull));
        if (next != Next::element) return next;
      }
      Element results;
      MR_ASSIGN(const bool is_there, call_.poll(pull, &results));
      if (!is_there) return Next::pending;
      if (doing_ == Doing::finalize) {
        *element = std::move(results);
        return Next::element;
      }
      MR_TRY(end_call(std::move(results)));
    }
  }

 private:
  enum class Doing : uint8_t { key, init, reduce, finalize };

  // Begins the call that is next: of the key of a new element, or of the result of a key.
  Result<Next> begin_call(Pull& pull) {
    if (input_ != nullptr) {
      MR_ASSIGN(const Next next, input_->next(pull, &element_));
      if (next == Next::pending) return next;
      if (next == Next::element) {
        doing_ = Doing::key;
        functions_.key.start(call_, element_);
        return next;
      }
      input_.reset();
    }
    if (states_.empty()) return Next::end;
    doing_ = Doing::finalize;
    auto first = states_.extract(states_.begin());
    functions_.finalize.start(call_, std::move(first.mapped()));
    return Next::element;
  }

  Status end_call(Element results) {
    if (doing_ == Doing::key) {
      MR_ASSIGN(key_, scalar_int64(results, "`key_func`"));
      if (!states_.contains(key_)) {
        doing_ = Doing::init;
        functions_.init.start(call_, {Tensor::scalar(key_)});
        return {};
      }
    } else {
      states_[key_] = std::move(results);
      if (doing_ == Doing::reduce) return {};
    }
    doing_ = Doing::reduce;
    Element arguments = states_[key_];
    std::ranges::move(element_, std::back_inserter(arguments));
    functions_.reduce.start(call_, std::move(arguments));
    return {};
  }

  IteratorPtr input_;  // null once it has ended
  const ReducerFunctions functions_;
  Doing doing_ = Doing::key;
  Call call_;
  Element element_;
  int64_t key_ = 0;
  std::map<int64_t, Element> states_;
};

struct ReducerCaptures {
  CapturedPtr key, init, reduce, finalize;
};

class GroupByReducerDataset final : public DerivedDataset {
 public:
  GroupByReducerDataset(Components components, DatasetPtr input, ReducerCaptures captures)
      : DerivedDataset(std::move(components), std::move(input)), captures_(std::move(captures)) {}
  int64_t cardinality() const override { return kUnknown; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    const size_t width = input_->components().types.size();
    ReducerFunctions made;
    MR_ASSIGN(made.key, WalkFunction::create(host, captures_.key, width, {DType::i64}));
    // What it gives is what a state is.
    MR_ASSIGN(const auto init, host->instance(*captures_.init, 1));
    const std::vector<DType> state = init->result_types();
    MR_ASSIGN(made.init, WalkFunction::create(host, captures_.init, 1, state));
    MR_ASSIGN(made.reduce,
              WalkFunction::create(host, captures_.reduce, state.size() + width, state));
    MR_ASSIGN(made.finalize,
              WalkFunction::create(host, captures_.finalize, state.size(), components().types));
    return IteratorPtr(std::make_unique<GroupReducing>(std::move(input), std::move(made)));
  }

 private:
  const ReducerCaptures captures_;
};

Result<DatasetPtr> make_group_reducer(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  ReducerCaptures captures;
  MR_ASSIGN(captures.key, inputs.function("key_func", "key_func_other_arguments"));
  MR_ASSIGN(captures.init, inputs.function("init_func", "init_func_other_arguments"));
  MR_ASSIGN(captures.reduce, inputs.function("reduce_func", "reduce_func_other_arguments"));
  MR_ASSIGN(captures.finalize, inputs.function("finalize_func", "finalize_func_other_arguments"));
  return DatasetPtr(std::make_shared<GroupByReducerDataset>(std::move(components), std::move(input),
                                                            std::move(captures)));
}

}  // namespace

Status register_dataset_group_reducers(OpRegistry& ops) {
  for (const char* name : {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    MR_TRY(ops.add(dataset_op(
        name,
        "What finalize_func makes of a state for each key: init_func's for the key, and then what "
        "reduce_func makes of it and each element that key_func gives the key.",
        "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
        "init_func_other_arguments: Tinit_func_other_arguments, "
        "reduce_func_other_arguments: Treduce_func_other_arguments, "
        "finalize_func_other_arguments: Tfinalize_func_other_arguments",
        str_cat("key_func: func, init_func: func, reduce_func: func, finalize_func: func, "
                "Tkey_func_other_arguments: list(type) >= 0, "
                "Tinit_func_other_arguments: list(type) >= 0, "
                "Treduce_func_other_arguments: list(type) >= 0, "
                "Tfinalize_func_other_arguments: list(type) >= 0, ",
                kOutputs),
        make_group_reducer, Kind::source)));
  }
  return {};
}

}  // namespace millrace::data

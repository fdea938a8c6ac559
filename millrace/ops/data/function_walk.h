// What iterators share that call a function of the graph with the elements of an input.
#pragma once

#include <utility>

#include "millrace/ops/data/call.h"
#include "millrace/ops/data/dataset.h"
#include "millrace/ops/data/dataset_variant.h"

namespace millrace::data {

// A function as a walk calls it.
struct WalkFunction {
  CapturedPtr captured;
  std::shared_ptr<GraphFunction> function;

  // Errors: those of IterationHost::instance; INVALID_ARGUMENT if it gives other types than
  // `gives`.
  static Result<WalkFunction> create(const HostPtr& host, const CapturedPtr& captured,
                                     size_t arguments, const std::vector<DType>& gives);
  void start(Call& call, Element arguments) const {
    call.start(*function, captured->captured, std::move(arguments));
  }
  void start_on(Runner* runner, Call& call, Element arguments) const {
    call.start_on(runner, function, captured->captured, std::move(arguments));
  }
};

// TensorFlow's functions end a sequence by failing with OUT_OF_RANGE.
inline bool ends_sequence(const Status& status) { return status.code() == Code::out_of_range; }

// A function's result that has to be one bool, "<what> must return a scalar bool.".
Result<bool> scalar_bool(const Element& results, std::string_view what);
// One int64, "<what> must return a scalar int64.".
Result<int64_t> scalar_int64(const Element& results, std::string_view what);

// A walk along a dataset that was made on the way: it holds both.
struct OwnedWalk {
  DatasetPtr dataset;
  IteratorPtr iterator;

  // From what a function gave that makes datasets. Errors: INVALID_ARGUMENT if it gave no dataset,
  // or one of other components than `gives`, on which whoever takes its elements relies.
  static Result<OwnedWalk> along(const Element& results, const std::vector<DType>& gives,
                                 const HostPtr& host);
  bool is_open() const { return iterator != nullptr; }
  void close() {
    iterator.reset();
    dataset.reset();
  }
};

}  // namespace millrace::data

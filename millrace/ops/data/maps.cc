// Part of families.h: register_dataset_maps, functions of elements.
#include <algorithm>
#include <deque>
#include <utility>

#include "millrace/ops/data/batch.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"
#include "millrace/ops/data/mapped.h"

namespace millrace::data {
namespace {

// How many calls are under way at once if the node leaves it to us.
constexpr int64_t kAutoCalls = 4;
// More take memory and no other good.
constexpr int64_t kMostCalls = 4096;

Result<Next> failed_call(Status status, OutOfRange out_of_range) {
  if (!ends_sequence(status)) return status;
  if (out_of_range == OutOfRange::ends) return Next::end;
  return invalid("Function invocation produced OutOfRangeError: ", status.message());
}

// ---- Map: one call at a time
// ---------------------------------------------------------------------

class Mapping final : public DatasetIterator {
 public:
  Mapping(IteratorPtr input, WalkFunction function, OutOfRange out_of_range)
      : input_(std::move(input)), function_(std::move(function)), out_of_range_(out_of_range) {}
  Result<Next> next(Pull& pull, Element* element) override {
    if (!call_.is_under_way()) {
      Element argument;
      MR_ASSIGN(const Next next, input_->next(pull, &argument));
      if (next != Next::element) return next;
      function_.start(call_, std::move(argument));
    }
    Result<bool> is_there = call_.poll(pull, element);
    if (!is_there.ok()) return failed_call(std::move(is_there).status(), out_of_range_);
    return *is_there ? Next::element : Next::pending;
  }

 private:
  const IteratorPtr input_;
  const WalkFunction function_;
  const OutOfRange out_of_range_;
  Call call_;
};

// ---- ParallelMap: several calls at a time
// --------------------------------------------------------

class ParallelMapping final : public DatasetIterator {
 public:
  ParallelMapping(IteratorPtr input, WalkFunction function, const Parallel& parallel, HostPtr host)
      : input_(std::move(input)),
        function_(std::move(function)),
        parallel_(parallel),
        host_(std::move(host)) {}

  Result<Next> next(Pull& pull, Element* element) override {
    fill(pull);
    const size_t candidates =
        parallel_.order == Order::kept ? std::min<size_t>(1, under_way_.size()) : under_way_.size();
    for (size_t i = 0; i < candidates; ++i) {
      Made& made = under_way_[i];
      Result<bool> is_there = made.call.is_under_way() ? made.call.poll(pull, element)
                                                       : Result<bool>(std::move(made.failed));
      if (is_there.ok() && !*is_there) continue;
      take_out(i);
      if (!is_there.ok()) return failed_call(std::move(is_there).status(), parallel_.out_of_range);
      return Next::element;
    }
    return under_way_.empty() && has_ended_ ? Next::end : Next::pending;
  }

 private:
  struct Made {
    Call call;
    Status failed;  // the input did: no call
  };

  void fill(Pull& pull) {
    while (!has_ended_ && under_way_.size() < parallel_.calls) {
      Element argument;
      Result<Next> next = input_->next(pull, &argument);
      if (next.ok() && *next == Next::pending) return;
      if (next.ok() && *next == Next::end) {
        has_ended_ = true;
        return;
      }
      Made made;
      if (!idle_.empty()) {
        made.call = std::move(idle_.back());
        idle_.pop_back();
      }
      if (next.ok()) {
        function_.start_on(host_->machine().pool, made.call, std::move(argument));
      } else {
        made.failed = std::move(next).status();
      }
      under_way_.push_back(std::move(made));
    }
  }

  void take_out(size_t index) {
    idle_.push_back(std::move(under_way_[index].call));
    under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(index));
  }

  const IteratorPtr input_;
  const WalkFunction function_;
  const Parallel parallel_;
  const HostPtr host_;
  bool has_ended_ = false;  // the input
  std::deque<Made> under_way_;
  std::vector<Call> idle_;  // used again: they keep what they need
};

class MapDataset final : public DerivedDataset {
 public:
  MapDataset(Components components, DatasetPtr input, CapturedPtr function,
             const Parallel& parallel)
      : DerivedDataset(std::move(components), std::move(input)),
        function_(std::move(function)),
        parallel_(parallel) {}
  int64_t cardinality() const override {
    return parallel_.out_of_range == OutOfRange::ends ? kUnknown : input_->cardinality();
  }
  int64_t batch_size() const override {
    return parallel_.rows == Rows::kept ? input_->batch_size() : kNoBatches;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    MR_ASSIGN(WalkFunction function,
              WalkFunction::create(host, function_, input_->components().types.size(),
                                   components().types));
    if (parallel_.calls <= 1)
      return IteratorPtr(
          std::make_unique<Mapping>(std::move(input), std::move(function), parallel_.out_of_range));
    return IteratorPtr(
        std::make_unique<ParallelMapping>(std::move(input), std::move(function), parallel_, host));
  }

 private:
  const CapturedPtr function_;
  const Parallel parallel_;
};

// ---- Filter and TakeWhile
// ------------------------------------------------------------------------

// What becomes of an element that the predicate refuses.
enum class Refused : uint8_t { is_left_out, ends };

class Filtering final : public DatasetIterator {
 public:
  Filtering(IteratorPtr input, WalkFunction predicate, Refused refused)
      : input_(std::move(input)), predicate_(std::move(predicate)), refused_(refused) {}
  Result<Next> next(Pull& pull, Element* element) override {
    while (!has_ended_) {
      if (!call_.is_under_way()) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        MR_ASSIGN(const Next next, input_->next(pull, &candidate_));
        if (next != Next::element) return next;
        predicate_.start(call_, candidate_);
      }
      Element results;
      Result<bool> is_there = call_.poll(pull, &results);
      if (!is_there.ok()) return failed_call(std::move(is_there).status(), OutOfRange::ends);
      if (!*is_there) return Next::pending;
      MR_ASSIGN(const bool is_wanted,
                scalar_bool(results, refused_ == Refused::ends ? "TakeWhile predicate `f`"
                                                               : "Filter predicate `f`"));
      if (is_wanted) {
        *element = std::move(candidate_);
        return Next::element;
      }
      has_ended_ = refused_ == Refused::ends;
    }
    return Next::end;
  }

 private:
  const IteratorPtr input_;
  const WalkFunction predicate_;
  const Refused refused_;
  Call call_;
  Element candidate_;
  bool has_ended_ = false;
};

class FilterDataset final : public DerivedDataset {
 public:
  FilterDataset(DatasetPtr input, CapturedPtr predicate, Refused refused)
      : DerivedDataset(std::move(input)), predicate_(std::move(predicate)), refused_(refused) {}
  int64_t cardinality() const override { return kUnknown; }
  int64_t batch_size() const override { return input_->batch_size(); }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    MR_ASSIGN(WalkFunction predicate,
              WalkFunction::create(host, predicate_, components().types.size(), {DType::boolean}));
    return IteratorPtr(
        std::make_unique<Filtering>(std::move(input), std::move(predicate), refused_));
  }

 private:
  const CapturedPtr predicate_;
  const Refused refused_;
};

// ---- MapAndBatch
// ---------------------------------------------------------------------------------

class MapAndBatchDataset final : public DerivedDataset {
 public:
  MapAndBatchDataset(Components components, DatasetPtr mapped, int64_t size, Remainder remainder)
      : DerivedDataset(std::move(components), std::move(mapped)),
        size_(size),
        remainder_(remainder) {}
  int64_t cardinality() const override {
    return batches_of(input_->cardinality(), size_, remainder_);
  }
  int64_t batch_size() const override { return size_; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr mapped, input_->iterate(host));
    return batches(std::move(mapped), size_, remainder_, stacked_batch, Loss::the_batch);
  }

 private:
  const int64_t size_;
  const Remainder remainder_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

Result<OutOfRange> out_of_range_of(const AttrView& attrs) {
  MR_ASSIGN(const bool preserves, attrs.boolean("preserve_cardinality"));
  return preserves ? OutOfRange::is_error : OutOfRange::ends;
}

Result<DatasetPtr> map_dataset(DatasetInputs& inputs, const Parallel& parallel) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(CapturedPtr function, inputs.function());
  return DatasetPtr(std::make_shared<MapDataset>(std::move(components), std::move(input),
                                                 std::move(function), parallel));
}

Result<DatasetPtr> make_map(DatasetInputs& inputs) {
  Parallel parallel;
  MR_ASSIGN(parallel.out_of_range, out_of_range_of(inputs.attrs()));
  return map_dataset(inputs, parallel);
}

template <class Int>
Result<DatasetPtr> make_parallel_map(DatasetInputs& inputs) {
  Parallel parallel;
  MR_ASSIGN(parallel.out_of_range, out_of_range_of(inputs.attrs()));
  MR_ASSIGN(parallel.order, order_of(inputs.attrs()));
  MR_ASSIGN(const Int calls,
            inputs.scalar<Int>(inputs.context().num_inputs() - 1, "num_parallel_calls"));
  MR_ASSIGN(parallel.calls, calls_of(calls));
  return map_dataset(inputs, parallel);
}

MakeDataset filter_of(Refused refused) {
  return [refused](DatasetInputs& inputs) -> Result<DatasetPtr> {
    MR_ASSIGN(DatasetPtr input, inputs.dataset());
    MR_ASSIGN(CapturedPtr predicate, inputs.function("predicate"));
    return DatasetPtr(
        std::make_shared<FilterDataset>(std::move(input), std::move(predicate), refused));
  };
}

Result<DatasetPtr> make_map_and_batch(DatasetInputs& inputs) {
  const int behind = inputs.context().num_inputs() - 3;
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(const int64_t size, inputs.scalar<int64_t>(behind, "batch_size"));
  if (size <= 0) return invalid("batch_size must be greater than zero.");
  MR_ASSIGN(const int64_t calls, inputs.scalar<int64_t>(behind + 1, "num_parallel_calls"));
  MR_ASSIGN(const bool drop, inputs.scalar<bool>(behind + 2, "drop_remainder"));
  Parallel parallel;
  MR_ASSIGN(parallel.out_of_range, out_of_range_of(inputs.attrs()));
  MR_ASSIGN(parallel.calls, calls_of(calls));
  MR_ASSIGN(auto components, inputs.components());
  Dataset::Components rows = components;
  for (PartialShape& shape : rows.shapes) {
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) return invalid("a batch is no scalar, as output_shapes says it is");
    MR_ASSIGN(shape, PartialShape::create(shape.dims().subspan(1)));
  }
  MR_ASSIGN(CapturedPtr function, inputs.function());
  auto mapped = std::make_shared<MapDataset>(std::move(rows), std::move(input), std::move(function),
                                             parallel);
  return DatasetPtr(std::make_shared<MapAndBatchDataset>(
      std::move(components), std::move(mapped), size, drop ? Remainder::dropped : Remainder::kept));
}

}  // namespace

Result<size_t> calls_of(int64_t asked) {
  if (asked == -1) return static_cast<size_t>(kAutoCalls);
  if (asked < 1) return invalid("num_parallel_calls must be greater than zero.");
  return static_cast<size_t>(std::min(asked, kMostCalls));
}

Result<Order> order_of(const AttrView& attrs) {
  if (const AttrValue* sloppy = attrs.find("sloppy")) {
    MR_ASSIGN(const bool is_sloppy, attrs.boolean("sloppy"));
    static_cast<void>(sloppy);
    return is_sloppy ? Order::any : Order::kept;
  }
  MR_ASSIGN(const std::string deterministic, attrs.string("deterministic"));
  return deterministic == "false" ? Order::any : Order::kept;
}

DatasetPtr mapped(Dataset::Components components, DatasetPtr input, CapturedPtr function,
                  const Parallel& parallel) {
  return std::make_shared<MapDataset>(std::move(components), std::move(input), std::move(function),
                                      parallel);
}

Status register_dataset_maps(OpRegistry& ops) {
  const std::string inputs = "input_dataset: variant, other_arguments: Targuments";
  const std::string function = str_cat("f: func, Targuments: list(type) >= 0, ", kOutputs);
  const std::string predicate = str_cat("predicate: func, Targuments: list(type) >= 0, ", kOutputs);
  const std::string threads = ", use_inter_op_parallelism: bool = true";
  const std::string cardinality = ", preserve_cardinality: bool = false";
  MR_TRY(ops.add(dataset_op("MapDataset", "What f gives for each element.", inputs,
                            function + threads + cardinality + ", force_synchronous: bool = false",
                            make_map)));
  MR_TRY(ops.add(dataset_op(
      "ParallelMapDataset", "MapDataset with several calls of f under way at once.",
      inputs + ", num_parallel_calls: int32",
      function + threads + ", sloppy: bool = false" + cardinality, make_parallel_map<int32_t>)));
  MR_TRY(ops.add(dataset_op("ParallelMapDatasetV2",
                            "MapDataset with several calls of f under way at once.",
                            inputs + ", num_parallel_calls: int64",
                            function + threads + ", deterministic: string = 'default'" +
                                cardinality + ", use_unbounded_threadpool: bool = false",
                            make_parallel_map<int64_t>)));
  MR_TRY(ops.add(dataset_op("FilterDataset", "The elements for which the predicate is true.",
                            inputs, predicate, filter_of(Refused::is_left_out))));
  MR_TRY(ops.add(dataset_op(
      "ParallelFilterDataset", "FilterDataset, whose calls TensorFlow makes several at once.",
      inputs + ", num_parallel_calls: int64", predicate + ", deterministic: string = 'default'",
      filter_of(Refused::is_left_out))));
  const std::string batch =
      inputs + ", batch_size: int64, num_parallel_calls: int64, drop_remainder: bool";
  for (const char* name : {"TakeWhileDataset", "ExperimentalTakeWhileDataset"}) {
    MR_TRY(
        ops.add(dataset_op(name, "The elements up to the first for which the predicate is false.",
                           inputs, predicate, filter_of(Refused::ends))));
  }
  for (const char* name : {"MapAndBatchDataset", "ExperimentalMapAndBatchDataset"}) {
    MR_TRY(ops.add(dataset_op(name, "What f gives for each element, in groups of batch_size.",
                              batch, function + cardinality, make_map_and_batch)));
  }
  return {};
}

}  // namespace millrace::data

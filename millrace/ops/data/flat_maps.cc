// Part of families.h: register_dataset_flat_maps, elements of datasets that functions make.
#include <algorithm>
#include <deque>
#include <utility>

#include "millrace/base/str_cat.h"
#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"
#include "millrace/ops/data/prefetch.h"

namespace millrace::data {
namespace {

// ---- FlatMap: one dataset after the other
// --------------------------------------------------------

class FlatMapping final : public DatasetIterator {
 public:
  FlatMapping(IteratorPtr input, WalkFunction function, std::vector<DType> gives, HostPtr host)
      : input_(std::move(input)),
        function_(std::move(function)),
        gives_(std::move(gives)),
        host_(std::move(host)) {}

  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      if (current_.is_open()) {
        MR_ASSIGN(const Next next, current_.iterator->next(pull, element));
        if (next != Next::end) return next;
        current_.close();
      }
      if (!call_.is_under_way()) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        Element argument;
        MR_ASSIGN(const Next next, input_->next(pull, &argument));
        if (next != Next::element) return next;
        function_.start(call_, std::move(argument));
      }
      Element results;
      MR_ASSIGN(const bool is_there, call_.poll(pull, &results));
      if (!is_there) return Next::pending;
      MR_ASSIGN(current_, OwnedWalk::along(results, gives_, host_));
    }
  }

 private:
  const IteratorPtr input_;
  const WalkFunction function_;
  const std::vector<DType> gives_;
  const HostPtr host_;
  Call call_;
  OwnedWalk current_;
};

class FlatMapDataset final : public DerivedDataset {
 public:
  FlatMapDataset(Components components, DatasetPtr input, CapturedPtr function)
      : DerivedDataset(std::move(components), std::move(input)), function_(std::move(function)) {}
  int64_t cardinality() const override { return kUnknown; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    MR_ASSIGN(
        WalkFunction function,
        WalkFunction::create(host, function_, input_->components().types.size(), {DType::variant}));
    return IteratorPtr(std::make_unique<FlatMapping>(std::move(input), std::move(function),
                                                     components().types, host));
  }

 private:
  const CapturedPtr function_;
};

// ---- Interleave: several datasets in turns
// -------------------------------------------------------

struct Turns {
  size_t cycle = 1;   // datasets that take turns
  int64_t block = 1;  // elements of each
  size_t ahead = 0;   // elements of each that are made ahead
  // Whether the dataset says that it is endless where its input is; TensorFlow's do by their age.
  bool tells_endless = false;
};

class Interleaving final : public DatasetIterator {
 public:
  Interleaving(IteratorPtr input, WalkFunction function, std::vector<DType> gives,
               const Turns& turns, HostPtr host)
      : input_(std::move(input)),
        function_(std::move(function)),
        gives_(std::move(gives)),
        turns_(turns),
        host_(std::move(host)) {}

  Result<Next> next(Pull& pull, Element* element) override {
    while (!has_ended_ || open_ > 0) {
      if (!pull.go_on()) return Next::pending;
      if (at_ < walks_.size() && walks_[at_].is_open()) {
        MR_ASSIGN(const Next next, walks_[at_].iterator->next(pull, element));
        if (next == Next::pending) return next;
        if (next == Next::element) {
          if (++given_ == turns_.block) turn();
          return next;
        }
        walks_[at_].close();
        --open_;
        turn();
      } else if (!has_ended_) {
        MR_ASSIGN(const bool is_there, open(pull));
        if (!is_there) return Next::pending;
      } else {
        turn();
      }
    }
    return Next::end;
  }

 private:
  void turn() {
    given_ = 0;
    at_ = (at_ + 1) % turns_.cycle;
    // Behind the last that was opened nothing opens any more.
    if (has_ended_ && at_ >= walks_.size()) at_ = 0;
  }

  // Opens the dataset whose turn it is, or learns that there is none. False: not yet.
  Result<bool> open(Pull& pull) {
    if (!call_.is_under_way()) {
      Element argument;
      MR_ASSIGN(const Next next, input_->next(pull, &argument));
      if (next == Next::pending) return false;
      if (next == Next::end) {
        has_ended_ = true;
        return true;
      }
      function_.start(call_, std::move(argument));
    }
    Element results;
    MR_ASSIGN(const bool is_there, call_.poll(pull, &results));
    if (!is_there) return false;
    MR_ASSIGN(OwnedWalk walk, OwnedWalk::along(results, gives_, host_));
    walk.iterator = made_ahead(std::move(walk.iterator), host_, turns_.ahead);
    if (at_ >= walks_.size()) walks_.resize(at_ + 1);
    walks_[at_] = std::move(walk);
    ++open_;
    return true;
  }

  const IteratorPtr input_;
  const WalkFunction function_;
  const std::vector<DType> gives_;
  const Turns turns_;
  const HostPtr host_;
  Call call_;
  bool has_ended_ = false;        // the input
  std::vector<OwnedWalk> walks_;  // by place in the cycle; grows with those that were opened
  size_t open_ = 0, at_ = 0;
  int64_t given_ = 0;  // elements in this turn
};

class InterleaveDataset final : public DerivedDataset {
 public:
  InterleaveDataset(Components components, DatasetPtr input, CapturedPtr function,
                    const Turns& turns)
      : DerivedDataset(std::move(components), std::move(input)),
        function_(std::move(function)),
        turns_(turns) {}
  int64_t cardinality() const override {
    return turns_.tells_endless && input_->cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    MR_ASSIGN(
        WalkFunction function,
        WalkFunction::create(host, function_, input_->components().types.size(), {DType::variant}));
    return IteratorPtr(std::make_unique<Interleaving>(std::move(input), std::move(function),
                                                      components().types, turns_, host));
  }

 private:
  const CapturedPtr function_;
  const Turns turns_;
};

// ---- Their ops
// -----------------------------------------------------------------------------------

// How many are made ahead if the node leaves it to us.
constexpr int64_t kAheadByDefault = 2, kMostAhead = 1024;

// Which kind of op it is. Those of old give an endless dataset no number, and choose no cycle.
enum class Kin : uint8_t { in_turns, parallel, old_parallel };

// Which inputs stand behind the captured ones, from the end.
struct TurnSlots {
  int cycle, block;
  int ahead = -1;  // elements to make ahead; -1: not said
  int calls = -1;  // how many at once; -1: not said
  Kin kin = Kin::in_turns;
};

// How many take turns if the node leaves it to us: as in TensorFlow what the machine runs at once,
// or a third of it, since of each two more are opened ahead there. The order of elements hangs on
// it.
int64_t cycle_of(const Runner* pool, Kin kin, int64_t calls) {
  const int64_t at_once = pool == nullptr ? 1 : pool->breadth();
  if (kin == Kin::in_turns) return at_once;
  return calls == -1 ? (at_once + 2) / 3 : std::min(calls, at_once);
}

Result<Turns> turns_of(DatasetInputs& inputs, const TurnSlots& slots) {
  const int num_inputs = inputs.context().num_inputs();
  Turns turns{.tells_endless = slots.kin == Kin::parallel};
  MR_ASSIGN(int64_t cycle, inputs.scalar<int64_t>(num_inputs - slots.cycle, "cycle_length"));
  int64_t calls = -1;
  if (slots.calls >= 0) {
    MR_ASSIGN(calls, inputs.scalar<int64_t>(num_inputs - slots.calls, "num_parallel_calls"));
  }
  if (calls == 0 || calls < -1) return invalid("num_parallel_calls must be greater than zero.");
  if (cycle == -1 && slots.kin != Kin::old_parallel)
    cycle = cycle_of(inputs.context().step().task_pool, slots.kin, calls);
  if (cycle <= 0) return invalid("cycle_length must be greater than zero.");
  if (calls > cycle) {
    return invalid("num_parallel_calls must less than or equal to cycle_length: ", calls,
                   " are more than ", cycle);
  }
  MR_ASSIGN(turns.block, inputs.scalar<int64_t>(num_inputs - slots.block, "block_length"));
  if (turns.block <= 0) return invalid("block_length must be greater than zero.");
  turns.cycle = static_cast<size_t>(cycle);
  if (slots.kin == Kin::in_turns) return turns;
  int64_t ahead = std::min(turns.block, kAheadByDefault);
  if (slots.ahead >= 0) {
    MR_ASSIGN(ahead, inputs.scalar<int64_t>(num_inputs - slots.ahead, "buffer_output_elements"));
    if (ahead == -1) ahead = kAheadByDefault;
    if (ahead <= 0) return invalid("`buffer_output_elements` must be > 0");
  }
  turns.ahead = static_cast<size_t>(std::min(ahead, kMostAhead));
  return turns;
}

MakeDataset interleave_of(const TurnSlots& slots) {
  return [slots](DatasetInputs& inputs) -> Result<DatasetPtr> {
    MR_ASSIGN(DatasetPtr input, inputs.dataset());
    MR_ASSIGN(auto components, inputs.components());
    MR_ASSIGN(CapturedPtr function, inputs.function());
    MR_ASSIGN(const Turns turns, turns_of(inputs, slots));
    return DatasetPtr(std::make_shared<InterleaveDataset>(std::move(components), std::move(input),
                                                          std::move(function), turns));
  };
}

Result<DatasetPtr> make_flat_map(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(CapturedPtr function, inputs.function());
  return DatasetPtr(std::make_shared<FlatMapDataset>(std::move(components), std::move(input),
                                                     std::move(function)));
}

}  // namespace

Status register_dataset_flat_maps(OpRegistry& ops) {
  const std::string inputs = "input_dataset: variant, other_arguments: Targuments";
  const std::string function = str_cat("f: func, Targuments: list(type) >= 0, ", kOutputs);
  const std::string turns = inputs + ", cycle_length: int64, block_length: int64";
  const std::string deterministic = "deterministic: string = 'default', ";
  MR_TRY(ops.add(dataset_op("FlatMapDataset",
                            "The elements of the datasets that f gives, one after the other.",
                            inputs, function, make_flat_map)));
  MR_TRY(ops.add(dataset_op(
      "InterleaveDataset",
      "The elements of the datasets that f gives; cycle_length of them take turns of block_length.",
      turns, function, interleave_of({.cycle = 2, .block = 1}))));
  const std::string doc = "InterleaveDataset whose datasets are walked along ahead of their turns.";
  MR_TRY(ops.add(
      dataset_op("ParallelInterleaveDatasetV2", doc, turns + ", num_parallel_calls: int64",
                 function + ", sloppy: bool = false",
                 interleave_of({.cycle = 3, .block = 2, .calls = 1, .kin = Kin::parallel}))));
  MR_TRY(ops.add(
      dataset_op("ParallelInterleaveDatasetV3", doc, turns + ", num_parallel_calls: int64",
                 deterministic + function,
                 interleave_of({.cycle = 3, .block = 2, .calls = 1, .kin = Kin::parallel}))));
  const std::string buffers = ", buffer_output_elements: int64, prefetch_input_elements: int64";
  MR_TRY(ops.add(dataset_op(
      "ParallelInterleaveDatasetV4", doc, turns + buffers + ", num_parallel_calls: int64",
      deterministic + function,
      interleave_of({.cycle = 5, .block = 4, .ahead = 3, .calls = 1, .kin = Kin::parallel}))));
  MR_TRY(ops.add(dataset_op(
      "LegacyParallelInterleaveDatasetV2", doc, turns + buffers, deterministic + function,
      interleave_of({.cycle = 4, .block = 3, .ahead = 2, .kin = Kin::old_parallel}))));
  for (const char* name : {"ParallelInterleaveDataset", "ExperimentalParallelInterleaveDataset"}) {
    MR_TRY(ops.add(
        dataset_op(name, doc, str_cat(turns, ", sloppy: bool", buffers), function,
                   interleave_of({.cycle = 5, .block = 4, .ahead = 2, .kin = Kin::old_parallel}))));
  }
  return {};
}

}  // namespace millrace::data

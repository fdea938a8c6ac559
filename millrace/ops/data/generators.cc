// Part of families.h: register_dataset_generators, elements out of functions alone.
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"
#include "millrace/ops/data/seed_generator.h"
#include "millrace/ops/data/seeds.h"

namespace millrace::data {
namespace {

// ---- GeneratorDataset: what a function gives until it fails with OUT_OF_RANGE
// --------------------

struct Generator {
  CapturedPtr init, next, finalize;
};

class Generating final : public DatasetIterator {
 public:
  Generating(WalkFunction init, WalkFunction next, WalkFunction finalize)
      : init_(std::move(init)), next_(std::move(next)), finalize_(std::move(finalize)) {}
  // A walk that is dropped on the way tells the program so, and waits for nothing.
  ~Generating() override {
    if (phase_ != Phase::elements) return;
    auto farewell = std::make_shared<Farewell>();
    farewell->is_orphan = true;
    farewell->arguments = state_;
    farewell->arguments.insert(farewell->arguments.end(), finalize_.captured->captured.begin(),
                               finalize_.captured->captured.end());
    finalize_.function->run(std::move(farewell));
  }

  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      switch (phase_) {
        case Phase::init: {
          if (!call_.is_under_way()) init_.start(call_, {});
          MR_ASSIGN(const bool is_there, call_.poll(pull, &state_));
          if (!is_there) return Next::pending;
          phase_ = Phase::elements;
          break;
        }
        case Phase::elements: {
          if (!call_.is_under_way()) next_.start(call_, state_);
          Result<bool> is_there = call_.poll(pull, element);
          if (is_there.ok()) return *is_there ? Next::element : Next::pending;
          if (!ends_sequence(is_there.status())) return std::move(is_there).status();
          phase_ = Phase::finalize;
          break;
        }
        case Phase::finalize: {
          if (!call_.is_under_way()) finalize_.start(call_, state_);
          Element ignored;
          Result<bool> is_there = call_.poll(pull, &ignored);
          if (is_there.ok() && !*is_there) return Next::pending;
          phase_ = Phase::over;
          if (!is_there.ok()) return std::move(is_there).status();
          break;
        }
        case Phase::over:
          return Next::end;
      }
    }
  }

 private:
  enum class Phase : uint8_t { init, elements, finalize, over };
  struct Farewell final : FunctionRun {
    void ended(Status) override {}
  };

  const WalkFunction init_, next_, finalize_;
  Phase phase_ = Phase::init;
  Call call_;
  Element state_;  // what init gave
};

class GeneratorDataset final : public Dataset {
 public:
  GeneratorDataset(Components components, Generator generator)
      : Dataset(std::move(components)), generator_(std::move(generator)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    // What it gives besides is not looked at.
    MR_ASSIGN(auto init, host->instance(*generator_.init, 0));
    const std::vector<DType> state = init->result_types();
    MR_ASSIGN(WalkFunction next,
              WalkFunction::create(host, generator_.next, state.size(), components().types));
    MR_ASSIGN(auto finalize, host->instance(*generator_.finalize, state.size()));
    return IteratorPtr(std::make_unique<Generating>(
        WalkFunction{generator_.init, std::move(init)}, std::move(next),
        WalkFunction{generator_.finalize, std::move(finalize)}));
  }

 private:
  const Generator generator_;
};

Result<DatasetPtr> make_generator(DatasetInputs& inputs) {
  MR_ASSIGN(auto components, inputs.components());
  Generator generator;
  MR_ASSIGN(generator.init, inputs.function("init_func", "init_func_other_args"));
  MR_ASSIGN(generator.next, inputs.function("next_func", "next_func_other_args"));
  MR_ASSIGN(generator.finalize, inputs.function("finalize_func", "finalize_func_other_args"));
  return DatasetPtr(
      std::make_shared<GeneratorDataset>(std::move(components), std::move(generator)));
}

// ---- RandomDataset
// -------------------------------------------------------------------------------

class RandomNumbers final : public DatasetIterator {
 public:
  explicit RandomNumbers(const Seeds& seeds) : words_(words_of(seeds)) {}
  Result<Next> next(Pull&, Element* element) override {
    element->assign(1, Tensor::scalar(int64_t{words_.next()}));
    return Next::element;
  }

 private:
  PhiloxWords words_;
};

class RandomDataset final : public Dataset {
 public:
  RandomDataset(Components components, std::shared_ptr<WalkSeeds> seeds)
      : Dataset(std::move(components)), seeds_(std::move(seeds)) {}
  int64_t cardinality() const override { return kInfinite; }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    return IteratorPtr(std::make_unique<RandomNumbers>(host->seeds().next(seeds_)));
  }

 private:
  const std::shared_ptr<WalkSeeds> seeds_;
};

Result<DatasetPtr> make_random_numbers(DatasetInputs& inputs, Reshuffle reshuffle) {
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(const int64_t first, inputs.scalar<int64_t>(0, "seed"));
  MR_ASSIGN(const int64_t second, inputs.scalar<int64_t>(1, "seed2"));
  if (components.types != std::vector<DType>{DType::i64})
    return invalid("a dataset of random numbers has one component, of int64");
  const Seeds seeds = Seeds::of(first, second, inputs.context().step().device->random);
  return DatasetPtr(std::make_shared<RandomDataset>(std::move(components),
                                                    std::make_shared<WalkSeeds>(seeds, reshuffle)));
}

Result<DatasetPtr> make_same_numbers(DatasetInputs& inputs) {
  return make_random_numbers(inputs, Reshuffle::never);
}

// Seeds of a generator come in the place of those that it is told.
Result<DatasetPtr> make_new_numbers(DatasetInputs& inputs) {
  MR_ASSIGN(const bool anew, inputs.attrs().boolean("rerandomize_each_iteration"));
  MR_ASSIGN(std::shared_ptr<WalkSeeds> seeds, seed_generator_at(inputs.context(), 2));
  if (seeds == nullptr)
    return make_random_numbers(inputs, anew ? Reshuffle::each_walk : Reshuffle::never);
  MR_ASSIGN(auto components, inputs.components());
  if (components.types != std::vector<DType>{DType::i64})
    return invalid("a dataset of random numbers has one component, of int64");
  return DatasetPtr(std::make_shared<RandomDataset>(std::move(components), std::move(seeds)));
}

}  // namespace

Status register_dataset_generators(OpRegistry& ops) {
  MR_TRY(ops.add(dataset_op(
      "GeneratorDataset",
      "What next_func gives for what init_func gave, until it fails with OUT_OF_RANGE; then "
      "finalize_func is called.",
      "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, "
      "finalize_func_other_args: Tfinalize_func_args",
      str_cat("init_func: func, next_func: func, finalize_func: func, "
              "Tinit_func_args: list(type) >= 0, Tnext_func_args: list(type) >= 0, "
              "Tfinalize_func_args: list(type) >= 0, ",
              kOutputs),
      make_generator, Kind::source)));
  for (const char* name : {"RandomDataset", "ExperimentalRandomDataset"}) {
    MR_TRY(ops.add(dataset_op(name, "Random numbers of 32 bits, without end.",
                              "seed: int64, seed2: int64", kOutputs, make_same_numbers,
                              Kind::source)));
  }
  return ops.add(dataset_op(
      "RandomDatasetV2",
      "Random numbers of 32 bits, without end; other ones in each walk if that is asked for.",
      "seed: int64, seed2: int64, seed_generator: resource",
      str_cat("rerandomize_each_iteration: bool = false, ", kOutputs), make_new_numbers,
      Kind::source));
}

}  // namespace millrace::data

// Dataset: how a sequence of elements is made; DatasetIterator: one walk along it.
//
// A dataset is immutable and shared: by the variant tensor that names it (dataset_variant.h), by
// the datasets made from it, by iterators. An iterator belongs to one owner, who pulls: an element,
// the end, or "not yet". It then wakes whoever pulled last, who pulls again. So nobody holds a
// thread while a function runs or a disk turns, and elements that are there cost a call.
//
//   MR_ASSIGN(const Next next, input_->next(pull, &element));
//   if (next != Next::element) return next;
//
// What is not finished when an iterator says "not yet" it keeps in itself, and goes on from there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/base/files.h"
#include "millrace/base/mutex.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/base/runner.h"
#include "millrace/base/timers.h"
#include "millrace/op/function_space.h"
#include "millrace/ops/data/seeds.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace::data {

// The components, flattened.
using Element = std::vector<Tensor>;

enum class Next : uint8_t { element, end, pending };

// Told that pulling again is worth while. Called on any thread, also while the pull is still going
// on, more often than needed, and long after nobody waits; must not pull inside.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void wake() = 0;
};

// One pull, as those it goes through see it. Whoever answers "pending" keeps the waker.
class Pull {
 public:
  explicit Pull(const std::shared_ptr<Waker>& waker_to_keep) : waker(waker_to_keep) {}

  // For loops that give nothing for a while (they skip, or fill a buffer): false if it is time to
  // answer "pending", so that whoever pulls sees whether anybody still wants the element. A turn of
  // a loop costs 1, one that calls a function or begins a walk kDear.
  bool go_on(int cost = 1) {
    left_ -= cost;
    if (left_ > 0) return true;
    waker->wake();
    return false;
  }
  static constexpr int kDear = 64;

  const std::shared_ptr<Waker>& waker;

 private:
  int left_ = 4096;
};

class DatasetIterator {
 public:
  virtual ~DatasetIterator() = default;
  // The next element, into *element, whose former content is dropped. One call at a time. After an
  // error the sequence goes on behind the element that failed, where there is such a thing; after
  // the end it is the end again.
  virtual Result<Next> next(Pull& pull, Element* element) = 0;
};

// A function of the graph and the tensors that it was given beforehand, which come behind the
// arguments of each call.
struct CapturedFunction {
  std::shared_ptr<FunctionSpace> space;
  FunctionRef function;
  std::vector<Tensor> captured;
};
using CapturedPtr = std::shared_ptr<const CapturedFunction>;

// What all iterators of one walk share, down to the sources. Outlives them. Those along a dataset
// that was made on the way have one of their own, which knows how deep they lie. Thread-safe.
class IterationHost {
 public:
  struct Machine {
    Runner* pool = nullptr;      // null: nothing works ahead
    Runner* blocking = nullptr;  // for files; null: they are read where they are wanted
    Files* files = nullptr;
    Random* random = nullptr;
    const Clock* clock = nullptr;  // null: nothing waits for a time
    Timers* timers = nullptr;
  };
  // `seeds` to draw again what an earlier walk has drawn; null: none.
  explicit IterationHost(Machine machine, std::shared_ptr<DrawnSeeds> seeds = nullptr)
      : machine_(machine),
        instances_(std::make_shared<Instances>()),
        seeds_(seeds != nullptr ? std::move(seeds) : std::make_shared<DrawnSeeds>()) {}

  const Machine& machine() const { return machine_; }
  // All iterators of the walk take seeds from generators through this.
  DrawnSeeds& seeds() const { return *seeds_; }
  // In how many other iterators these lie, at most.
  int depth() const { return depth_; }
  // The same for iterators that lie that deep.
  std::shared_ptr<IterationHost> within(int depth) const {
    auto made = std::make_shared<IterationHost>(*this);
    made->depth_ = depth;
    return made;
  }
  // The function with this walk's state in it: whoever calls it in this walk, also one that begins
  // anew, calls the same.
  // Errors: those of FunctionSpace::instantiate; INVALID_ARGUMENT if it does not take `arguments`
  // tensors more than were captured.
  Result<std::shared_ptr<GraphFunction>> instance(const CapturedFunction& function,
                                                  size_t arguments);
  // Of all functions so far. Errors: those of FunctionSpace::check_stateless.
  Status check_stateless() const;

 private:
  struct Instance {
    std::shared_ptr<FunctionSpace> space;
    std::vector<std::pair<std::string, AttrValue>> attrs;
    std::shared_ptr<GraphFunction> function;
  };
  struct Instances {
    std::shared_ptr<GraphFunction> find(const CapturedFunction& function) MR_REQUIRES(mutex);

    Mutex mutex;
    absl::flat_hash_map<std::string, std::vector<Instance>> by_name MR_GUARDED_BY(mutex);
  };

  const Machine machine_;
  int depth_ = 0;  // constant once shared
  const std::shared_ptr<Instances> instances_;
  const std::shared_ptr<DrawnSeeds> seeds_;
};

inline constexpr int64_t kInfinite = -1, kUnknown = -2;
inline constexpr int64_t kNoBatches = -1;

class Dataset {
 public:
  struct Components {
    std::vector<DType> types;
    std::vector<PartialShape> shapes;
  };
  explicit Dataset(Components components) : components_(std::move(components)) {}
  virtual ~Dataset() = default;

  const Components& components() const { return components_; }
  // How many elements; kInfinite, kUnknown.
  virtual int64_t cardinality() const { return kUnknown; }
  // How many rows a whole batch has, if its elements are batches of one size; kNoBatches.
  virtual int64_t batch_size() const { return kNoBatches; }
  // The iterator keeps the dataset's parts, not the dataset: whoever walks holds both.
  virtual Result<std::unique_ptr<DatasetIterator>> iterate(
      const std::shared_ptr<IterationHost>& host) const = 0;
  // TensorFlow's Options, as bytes; those of its input mostly.
  virtual std::string options() const { return {}; }

 private:
  const Components components_;
};

using DatasetPtr = std::shared_ptr<const Dataset>;
using IteratorPtr = std::unique_ptr<DatasetIterator>;
using HostPtr = std::shared_ptr<IterationHost>;

// A dataset made of another one, whose components and number of elements it has unless it says
// otherwise.
class DerivedDataset : public Dataset {
 public:
  DerivedDataset(Components components, DatasetPtr input)
      : Dataset(std::move(components)), input_(std::move(input)) {}
  explicit DerivedDataset(DatasetPtr input)
      : Dataset(input->components()), input_(std::move(input)) {}
  int64_t cardinality() const override { return input_->cardinality(); }
  std::string options() const override { return input_->options(); }

 protected:
  const DatasetPtr input_;
};

}  // namespace millrace::data

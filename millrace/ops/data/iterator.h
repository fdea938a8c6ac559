// Iterator: a walk along a dataset as a resource of a device, which steps pull elements from.
//
// Whoever wants an element stands in line. The first in line pulls, on its own thread as long as
// elements are there; when the walk says "not yet" nobody holds a thread, and what wakes it goes on
// on the pool. A step that is cancelled leaves the line at once, and what was on its way to it goes
// to the next. A new dataset takes the place of the walk; those in line then pull from the new one.
// Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "millrace/base/cancellation.h"
#include "millrace/base/done.h"
#include "millrace/op/resource.h"
#include "millrace/ops/data/dataset.h"
#include "millrace/ops/data/walk_state.h"

namespace millrace::data {

class Iterator final : public Resource {
 public:
  static constexpr std::string_view kTypeName = "tensorflow::data::IteratorResource";

  // What elements must be; no types: anything.
  Iterator(Dataset::Components components, std::string name);
  ~Iterator() override;

  const Dataset::Components& components() const { return components_; }

  // Begins a walk. Errors: INVALID_ARGUMENT if the dataset has other components; those of
  // iterate().
  Status begin(DatasetPtr dataset, IterationHost::Machine machine);
  // None while there is no walk.
  DatasetPtr dataset() const;

  // What is said of functions that have state, which is not kept with the walk.
  enum class Unkept : uint8_t { allowed, refused };
  // How far the walk is, elements that failed included.
  // Errors: FAILED_PRECONDITION before begin(), and for what is refused.
  Result<WalkState> save(Unkept unkept) const;
  // Begins a walk along the dataset of the present one and goes on to where `state` was: what lies
  // before is made again and dropped. The walk takes the place of the present one once it is there;
  // until then, and if that fails, there is the present one.
  // Errors: FAILED_PRECONDITION before begin(); CANCELLED with `cancellation`, which may be null;
  // those of begin().
  void restore(WalkState state, IterationHost::Machine machine, Cancellation* cancellation,
               Done<void> done);

  // The next element. Errors: FAILED_PRECONDITION before begin(); OUT_OF_RANGE "End of sequence";
  // CANCELLED with `cancellation`; those of the walk.
  void next(Cancellation* cancellation, Done<Element> done);

  std::string description() const override;
  void close(const Status& why) override;

 private:
  class Line;
  class Resumption;

  const Dataset::Components components_;
  const std::string name_;
  const std::shared_ptr<Line> line_;
};

// That what a dataset gives may stand where `wanted` is declared; types in TensorFlow's words.
Status check_components(const Dataset::Components& wanted, const Dataset::Components& given);

}  // namespace millrace::data

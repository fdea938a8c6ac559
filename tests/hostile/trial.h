// Trial: one op, run once on input that somebody hostile could send. Its examples, where it has
// some, are taken as a beginning; types, shapes, values, attributes and the lengths of lists are
// changed. What the op answers is its own affair; a trial complains of an answer that can't be
// right:
//
//   * an output without a value, of another type than the op says, or of a shape that the shape
//     rule excludes;
//   * a kernel that waits, and does not answer when its step is cancelled.
//
// Its shape rule is asked first, of shapes that no kernel would come to see: of huge sizes, and
// such as are not known. What ends the process is for whoever runs trials to see (hunt.h). The same
// registry, seed and number make the same trial. For one thread; `run` once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/hostile/surroundings.h"

#include "millrace/op/registry.h"
#include "millrace/op/testing/example.h"

namespace millrace::hostile {

// An op with its examples, read once.
class Subject {
 public:
  Subject(const OpRegistry& ops, const OpDef& op);

  const OpRegistry& ops() const { return ops_; }
  const OpDef& op() const { return op_; }
  const std::vector<Example>& examples() const { return examples_; }
  // Ops that only planning runs are no subjects.
  static bool can_be(const OpDef& op);

 private:
  const OpRegistry& ops_;
  const OpDef& op_;
  std::vector<Example> examples_;
};

class Trial {
 public:
  Trial(const Subject& subject, uint64_t seed, int64_t number);

  // The op with its inputs and attributes: what to paste into a test.
  std::string text() const;
  // What can't be right; empty if nothing. Errors of the op are none.
  std::string run();
  // For who sees that it takes long, from another thread: the step of the trial.
  Cancellation& cancellation() { return surroundings_.bench().cancellation(); }

 private:
  AttrValue drawn(const AttrDef& attr);
  Attrs draw_attrs(const Example* example);
  Value draw_input(const Example* example, size_t slot, const ArgType& type, DType hint);
  void ask_rule();
  std::string check(const std::vector<Value>& inputs, const Running& running,
                    const std::vector<Value>& outputs);
  std::string check_rule(const std::vector<Value>& inputs, const std::vector<Value>& outputs);
  void try_gradient(const std::vector<Value>& inputs, const std::vector<Value>& outputs);
  void walk_along(const Tensor& dataset);

  const Subject& subject_;
  const OpDef& op_;
  Draw draw_;
  Surroundings surroundings_;
  Attrs attrs_;
  std::vector<Value> inputs_;
  std::string refusal_;  // there is nothing to run: the attributes don't even say which inputs
};

}  // namespace millrace::hostile

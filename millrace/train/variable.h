// Variable: a value on a task that outlasts the steps which change it, as a program holds it.
//
// A handle: copies are the same variable. The nodes are those of a reference variable of TensorFlow
// 1 (VariableV2), by TensorFlow's names, so that a checkpoint, or a task that a program of another
// language shares, finds it: "dense/kernel", "dense/kernel/Assign", "dense/kernel/read". Made by a
// VariableScope; without a node after an error of building.
#pragma once

#include <string>
#include <vector>

#include "millrace/api/input.h"
#include "millrace/tensor/shape.h"

namespace millrace {

struct Variable {
  std::string name = {};      // "dense/kernel"
  Output reference = {};      // what ops take that change it
  Output value = {};          // what reading it gives
  Output initial_value = {};  // what the initializer sets
  Operation initializer = {};
  Shape shape = {};
  bool is_trainable = true;
  // What it is called in checkpoints, and which slice of that it is; "" for all of it.
  std::string saved_name = {};
  std::string slice = {};

  bool has_value() const { return reference.has_value(); }
  const Operation& op() const { return reference.op(); }
  DType dtype() const { return value.dtype(); }
  // The device that it was given, "" for none.
  std::string device() const;

  // NOLINTBEGIN(google-explicit-constructor): a variable stands for its value where one is wanted.
  operator const Output&() const { return value; }
  operator Input() const { return value; }
  // NOLINTEND(google-explicit-constructor)
};

// A variable whose rows are spread over several, the first ones with one row more where they can't
// be alike.
struct PartitionedVariable {
  std::string name = {};
  Shape shape = {};
  std::vector<Variable> parts = {};
};

}  // namespace millrace

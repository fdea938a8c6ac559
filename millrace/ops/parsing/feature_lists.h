// Lists of features of tf.train.SequenceExample, gathered from one message or from many.
//
//   A list is a step per feature, a step any number of values:
//     values      v v v v v v …
//     step_ends   where each step ends, in values
//     list_ends   where each message's list ends, in steps
//
// Errors are INVALID_ARGUMENT with the message's name, the key and the step.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "millrace/op/cancel_probe.h"
#include "millrace/ops/parsing/features.h"

namespace millrace {

// A list that is asked for: all its steps of one shape, or of any number of values each.
struct ListedColumn {
  std::string key;
  DType dtype = DType::invalid;
  std::optional<Shape> shape = {};
  bool may_be_missing = true;
};

struct ListedSteps {
  explicit ListedSteps(DType dtype) : values(dtype) {}

  int64_t first_step(size_t list) const { return list == 0 ? 0 : list_ends[list - 1]; }
  int64_t first_value(int64_t step) const {
    return step == 0 ? 0 : step_ends[static_cast<size_t>(step - 1)];
  }

  FeatureValues values;
  std::vector<int64_t> step_ends;
  std::vector<int64_t> list_ends;
  int64_t longest_step = 0;  // in values
  int64_t longest_list = 0;  // in steps
};

// The bytes of each FeatureList of a SequenceExample, which they refer to.
using ListedBytes = absl::flat_hash_map<std::string_view, std::string_view>;
Result<ListedBytes> listed_bytes(std::string_view sequence);

// Appends the list of one message, called `name`: an empty one if it is not there and may be so.
Status append_list(const ListedColumn& column, const ListedBytes& lists, std::string_view name,
                   CancelProbe& probe, ListedSteps& steps);

// Steps as a sparse tensor: [message,] step, value.
struct ListedSparse {
  Tensor indices, values, shape;
};
Result<ListedSparse> sparse_steps(const ListedSteps& steps, bool has_batch);
// Steps of a shape as a tensor [message,] step, …; the shorter lists end in zeros or "".
Result<Tensor> dense_steps(const ListedSteps& steps, const Shape& shape, bool has_batch);

}  // namespace millrace

// Call: a call of a captured function as iterators wait for it.
//
//   call_.start(*function_, captured, std::move(element));
//   MR_ASSIGN(const bool is_there, call_.poll(pull, &result));
//   if (!is_there) return Next::pending;
//
// Owned by one iterator and used again for its next call. Going out of scope cancels what runs.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <utility>

#include "millrace/ops/data/dataset.h"

namespace millrace::data {

class Call {
 public:
  Call() = default;
  Call(Call&& other) noexcept
      : cell_(std::move(other.cell_)), is_under_way_(std::exchange(other.is_under_way_, false)) {}
  Call& operator=(Call&& other) noexcept;
  ~Call() { abandon(); }

  // True from `start` until `poll` has given the answer.
  bool is_under_way() const { return is_under_way_; }
  // Requires that none is under way. The function may have ended when this returns.
  void start(GraphFunction& function, std::span<const Tensor> captured, Element arguments);
  // The same on `runner`, so that several work at once; here if it is null.
  void start_on(Runner* runner, std::shared_ptr<GraphFunction> function,
                std::span<const Tensor> captured, Element arguments);
  // True with the results in *results; false: not yet. Errors: the function's.
  Result<bool> poll(Pull& pull, Element* results);

 private:
  class Cell;
  std::shared_ptr<Cell> fresh_cell(std::span<const Tensor> captured, Element arguments);
  void abandon();

  std::shared_ptr<Cell> cell_;
  bool is_under_way_ = false;
};

}  // namespace millrace::data

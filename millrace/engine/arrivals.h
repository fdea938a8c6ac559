// Arrivals: what one node still waits for in one iteration of one step.
//
// Every input, data or control, arrives once: as a value, or as a death (its producer was not run).
// A node is ready when everything has arrived, and dead if anything that arrived was. A Merge is
// ready when its control inputs are there and one of its data inputs is alive or all of them are
// dead; deaths on its control edges mean nothing.
//
// A value of 8 bytes, so that a step resets all of its nodes with one copy. Plain numbers: whoever
// owns the step counts. The calls that count return true when the node has just become ready.
#pragma once

#include <cstdint>

namespace millrace {

class Arrivals {
 public:
  static constexpr Arrivals of_ordinary(uint32_t inputs) { return {inputs, 0}; }
  static constexpr Arrivals of_merge(uint32_t data_inputs, uint32_t control_inputs) {
    return {control_inputs + 1, data_inputs};
  }

  bool waits() const { return waiting_ != 0; }
  bool is_dead() const { return (state_ & kDead) != 0; }

  // For ordinary nodes.
  bool value() { return --waiting_ == 0; }
  bool death() {
    state_ |= kDead;
    return --waiting_ == 0;
  }

  // For a Merge. A data input that is not the first one alive is of no use: `has_value` tells.
  bool has_value() const { return (state_ & kHasValue) != 0; }
  bool merge_control() { return --waiting_ == 0; }
  bool merge_value() {
    if ((state_ & (kHasValue | kDead)) != 0) return false;
    state_ |= kHasValue;
    return --waiting_ == 0;
  }
  bool merge_death() {
    if (--state_ & (kCount | kHasValue | kDead)) return false;
    state_ |= kDead;
    return --waiting_ == 0;
  }
  // The loop that the Merge heads is not entered at all.
  bool merge_loop_death() {
    if ((state_ & (kHasValue | kDead)) != 0) return false;
    state_ |= kDead;
    return --waiting_ == 0;
  }

 private:
  static constexpr uint32_t kDead = 1u << 31, kHasValue = 1u << 30, kCount = kHasValue - 1;
  constexpr Arrivals(uint32_t waiting, uint32_t state) : waiting_(waiting), state_(state) {}

  uint32_t waiting_;  // inputs to come; of a Merge, its control inputs and its decision
  uint32_t state_;    // kDead, kHasValue, and in the low bits a Merge's data inputs not yet dead
};

}  // namespace millrace

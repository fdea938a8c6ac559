// Walking over several tensors at once, each with strides of its own: the one place where
// broadcast, transposed and sliced layouts are turned into straight runs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "absl/container/inlined_vector.h"

#include "millrace/op/cancel_probe.h"
#include "millrace/tensor/shape.h"

namespace millrace {

using Strides = absl::InlinedVector<int64_t, 4>;

// Elements from one index to the next along each axis of a row-major tensor.
Strides row_major_strides(std::span<const int64_t> dims);
inline Strides row_major_strides(const Shape& shape) { return row_major_strides(shape.dims()); }

// Strides with which a tensor of `shape` is read as if it had shape `as`, to which it broadcasts.
Strides broadcast_strides(const Shape& shape, const Shape& as);

// A box of elements that is walked through by N tensors. Axes of size 1 are dropped, and axes that
// all tensors walk through as if they were one are merged, so that the innermost run is as long as
// it can be.
template <int N>
class Walk {
 public:
  Walk(std::span<const int64_t> dims, const std::array<std::span<const int64_t>, N>& strides) {
    for (int axis = static_cast<int>(dims.size()) - 1; axis >= 0; --axis) {
      if (dims[axis] == 0) is_empty_ = true;
      // Nobody moves along it, whatever the strides say: they need not agree for what is on both
      // sides of it to merge.
      if (dims[axis] == 1) continue;
      if (!dims_.empty() && continues(strides, axis)) {
        dims_.back() *= dims[axis];
        continue;
      }
      dims_.push_back(dims[axis]);
      for (int n = 0; n < N; ++n) strides_[n].push_back(strides[n][axis]);
    }
    if (dims_.empty()) {
      dims_.push_back(1);
      for (int n = 0; n < N; ++n) strides_[n].push_back(0);
    }
  }

  // Elements of the innermost run, and how far each tensor moves from one to the next.
  int64_t run_length() const { return dims_[0]; }
  int64_t run_stride(int n) const { return strides_[n][0]; }

  // Its axes, the innermost first.
  int axes() const { return static_cast<int>(dims_.size()); }
  int64_t length(int axis) const { return dims_[axis]; }
  int64_t stride(int n, int axis) const { return strides_[n][axis]; }
  // The walk along the other axes, whatever length and strides they leave as the innermost run.
  Walk without(int axis) const {
    Walk rest = *this;
    if (axes() == 1) {
      rest.dims_[0] = 1;
      return rest;
    }
    rest.dims_.erase(rest.dims_.begin() + axis);
    for (Strides& strides : rest.strides_) strides.erase(strides.begin() + axis);
    return rest;
  }

  // The outermost axis, and the part of the box that lies in [begin, end) of it: parts are walked
  // by one thread each.
  int64_t outer_length() const { return is_empty_ ? 0 : dims_.back(); }
  int64_t outer_stride(int n) const { return strides_[n].back(); }
  Walk outer_part(int64_t begin, int64_t end) const {
    Walk part = *this;
    part.dims_.back() = end - begin;
    for (int n = 0; n < N; ++n) part.begin_[n] += begin * strides_[n].back();
    return part;
  }

  // visit(offsets) for the beginning of each run, in row-major order; stops when it says false.
  template <class Visit>
  bool each_run(Visit visit) const {
    if (is_empty_) return true;
    std::array<int64_t, N> offsets = begin_;
    Strides index(dims_.size(), 0);
    // Counts like an odometer, without a division: there may be a run for every few elements.
    for (;;) {
      if (!visit(offsets)) return false;
      size_t axis = 1;
      for (; axis < dims_.size(); ++axis) {
        for (int n = 0; n < N; ++n) offsets[n] += strides_[n][axis];
        if (++index[axis] < dims_[axis]) break;
        index[axis] = 0;
        for (int n = 0; n < N; ++n) offsets[n] -= strides_[n][axis] * dims_[axis];
      }
      if (axis == dims_.size()) return true;
    }
  }

  // visit(offsets, count) for straight pieces, in row-major order: the runs, and long ones in parts
  // of `piece` elements. Ends early if the step does: the status of the probe.
  template <class Visit>
  Status each_piece(CancelProbe& probe, Visit visit, int64_t piece = CancelProbe::kPiece) const {
    const int64_t length = run_length();
    const bool is_through = each_run([&](const std::array<int64_t, N>& run) {
      if (length <= piece) {
        visit(run, length);
        return probe.go_on(length);
      }
      std::array<int64_t, N> offsets = run;
      for (int64_t begin = 0; begin < length; begin += piece) {
        visit(offsets, std::min(piece, length - begin));
        if (!probe.go_on(piece)) return false;
        for (int n = 0; n < N; ++n) offsets[n] += piece * run_stride(n);
      }
      return true;
    });
    return is_through ? Status() : probe.status();
  }

 private:
  // True if going one step along `axis` is the same as walking past the end of the last one.
  bool continues(const std::array<std::span<const int64_t>, N>& strides, int axis) const {
    for (int n = 0; n < N; ++n) {
      if (strides[n][axis] != strides_[n].back() * dims_.back()) return false;
    }
    return true;
  }

  bool is_empty_ = false;
  Strides dims_;  // innermost first
  std::array<Strides, N> strides_;
  std::array<int64_t, N> begin_{};  // offsets of the first element
};

}  // namespace millrace

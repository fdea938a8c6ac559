// Batch normalisation seen as work on rows of channels: what a node says of it, images as such
// rows, and the two loops over rows that it is made of. Private to this room; values on the stack.
#pragma once

#include <algorithm>

#include "millrace/op/attrs.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/share_work.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

// What a node says of its normalisation.
struct Normalising {
  float epsilon = 0, factor = 1;
  bool channels_first = false, training = true;

  int channels(int rank) const { return channels_first ? 1 : rank - 1; }
};

Result<Normalising> normalising(const AttrView& attrs);

// Images as rows of channels, all in float32.
struct Rows {
  int64_t rows = 0, channels = 0;
  Tensor values;
  const float* operator[](int64_t row) const {
    return values.flat<float>().data() + row * channels;
  }
};

// Errors: RESOURCE_EXHAUSTED, CANCELLED.
Result<Rows> rows_of(const Tensor& images, const Normalising& how, CancelProbe probe);
// Rows back in the shape, format and type of `images`.
Result<Tensor> as_images(Tensor rows, int64_t channels, const Normalising& how,
                         const Tensor& images, CancelProbe probe);

// Two sums over all rows for each channel: add(row, first, second) adds a row to both. Some rows at
// a time are added in float32, and these in float64, in an order that the shape decides.
template <class Add>
Result<Tensor> sums_of_rows(KernelContext& context, int64_t rows, int64_t channels, Add add) {
  constexpr int64_t kSome = 64;
  const int64_t pieces = pieces_of_range(rows, channels * 4), each = (rows + pieces - 1) / pieces;
  MR_ASSIGN(Tensor kept, Tensor::zeros(DType::f64, {pieces, 2, channels}));
  double* const totals = kept.mutable_flat<double>().data();
  MR_TRY(share_work(context, pieces, [&](int64_t piece, CancelProbe& probe) -> Status {
    MR_ASSIGN(Tensor narrow, Tensor::allocate(DType::f32, {2, channels}));
    float* const first = narrow.mutable_flat<float>().data();
    double* const mine = totals + piece * 2 * channels;
    const int64_t end = std::min(rows, (piece + 1) * each);
    for (int64_t row = piece * each; row < end;) {
      std::fill_n(first, 2 * channels, 0.0F);
      for (const int64_t stop = std::min(end, row + kSome); row < stop; ++row)
        add(row, first, first + channels);
      for (int64_t c = 0; c < 2 * channels; ++c) mine[c] += first[c];
      if (!probe.go_on(kSome * channels)) return probe.status();
    }
    return {};
  }));
  MR_ASSIGN(Tensor sums, Tensor::zeros(DType::f64, {2, channels}));
  double* const sum = sums.mutable_flat<double>().data();
  for (int64_t i = 0; i < kept.num_elements(); ++i) sum[i % (2 * channels)] += totals[i];
  return sums;
}

// out[row] = make(row, channel) for all of them.
template <class Make>
Result<Tensor> made_rows(KernelContext& context, const Rows& like, Make make) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, {like.rows, like.channels}));
  float* const to = made.mutable_flat<float>().data();
  const int64_t channels = like.channels;
  MR_TRY(share_range(context, like.rows, channels * 4,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t row = begin; row < end; ++row) {
                         make(row, to + row * channels);
                         if (!probe.go_on(channels)) return probe.status();
                       }
                       return {};
                     }));
  return made;
}

}  // namespace millrace

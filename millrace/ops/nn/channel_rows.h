// Batch normalisation seen as work on rows of channels: what a node says of it, images as such
// rows, and the two loops over rows that it is made of. Private to this room; values on the stack.
#pragma once

#include <algorithm>

#include "millrace/op/attrs.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/instructions.h"
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

// What all rows come to, two numbers for each channel, in float64: gather(begin, end, room, of)
// says it of rows [begin, end), which lie in the nearest cache together, so that several passes
// over them cost little more than one; `room` has three floats for each channel. And join(of, rows,
// more, more_rows) adds to what `rows` rows come to what others do. In an order that the shape
// decides.
template <class Gather, class Join>
Result<Tensor> joined_rows(KernelContext& context, int64_t rows, int64_t channels, Gather gather,
                           Join join) {
  constexpr int64_t kNear = int64_t{4} << 10;  // floats
  const int64_t some = std::clamp<int64_t>(kNear / std::max<int64_t>(channels, 1), 8, 64);
  const int64_t pieces = pieces_of_range(rows, channels * 4), each = (rows + pieces - 1) / pieces;
  MR_ASSIGN(Tensor kept, Tensor::zeros(DType::f64, {pieces, 2, channels}));
  double* const all = kept.mutable_flat<double>().data();
  const auto gather_piece = [&](int64_t piece, CancelProbe& probe) -> Status {
    MR_ASSIGN(Tensor narrow, Tensor::allocate(DType::f32, {3, channels}));
    MR_ASSIGN(Tensor wide, Tensor::allocate(DType::f64, {2, channels}));
    float* const room = narrow.mutable_flat<float>().data();
    double* const more = wide.mutable_flat<double>().data();
    double* const mine = all + piece * 2 * channels;
    const int64_t begin = piece * each, end = std::min(rows, begin + each);
    for (int64_t row = begin; row < end; row += some) {
      const int64_t stop = std::min(end, row + some);
      cpu::in_widest([&]() MR_LAMBDA_BODY {
        gather(row, stop, room, more);
        join(mine, row - begin, more, stop - row);
      });
      if (!probe.go_on((stop - row) * channels)) return probe.status();
    }
    return {};
  };
  // So little is done before anybody could want it to end.
  if (CancelProbe probe(context); pieces == 1) {
    MR_TRY(gather_piece(0, probe));
  } else {
    MR_TRY(share_work(context, pieces, gather_piece));
  }
  MR_ASSIGN(Tensor joined, Tensor::zeros(DType::f64, {2, channels}));
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t before = std::min(rows, piece * each);
    join(joined.mutable_flat<double>().data(), before, all + piece * 2 * channels,
         std::min(rows, before + each) - before);
  }
  return joined;
}

// Two sums over all rows for each channel: add(row, first, second) adds a row to both. Some rows at
// a time are added in float32, and these in float64.
template <class Add>
Result<Tensor> sums_of_rows(KernelContext& context, int64_t rows, int64_t channels, Add add) {
  return joined_rows(
      context, rows, channels,
      [=](int64_t begin, int64_t end, float* room, double* sums) MR_LAMBDA_BODY {
        std::fill_n(room, 2 * channels, 0.0F);
        for (int64_t row = begin; row < end; ++row) add(row, room, room + channels);
        std::copy_n(room, 2 * channels, sums);
      },
      [=](double* sums, int64_t, const double* more, int64_t) MR_LAMBDA_BODY {
        MR_INDEPENDENT
        for (int64_t c = 0; c < 2 * channels; ++c) sums[c] += more[c];
      });
}

// out[row] = make(row, channel) for all of them.
template <class Make>
Result<Tensor> made_rows(KernelContext& context, const Rows& like, Make make) {
  MR_ASSIGN(Tensor made, Tensor::allocate(DType::f32, {like.rows, like.channels}));
  float* const to = made.mutable_flat<float>().data();
  const int64_t channels = like.channels;
  constexpr int64_t kSome = 64;
  MR_TRY(share_range(context, like.rows, channels * 4,
                     [&](int64_t begin, int64_t end, CancelProbe& probe) -> Status {
                       for (int64_t row = begin; row < end; row += kSome) {
                         const int64_t stop = std::min(end, row + kSome);
                         cpu::in_widest([&]() MR_LAMBDA_BODY {
                           for (int64_t at = row; at < stop; ++at) make(at, to + at * channels);
                         });
                         if (!probe.go_on((stop - row) * channels)) return probe.status();
                       }
                       return {};
                     }));
  return made;
}

}  // namespace millrace

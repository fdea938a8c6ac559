// oneDNN's convolutions and products against the formula, in every direction; and that nothing of
// how it runs is left behind. Where the library is missing these say so: it is not an error then.
#include <cmath>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/onednn/convolution.h"
#include "millrace/ops/onednn/library.h"
#include "millrace/ops/onednn/product.h"

namespace millrace::onednn {
namespace {

using Floats = std::vector<float>;

// Numbers that differ, from -1 to 1.
Floats numbers(int64_t count, int seed) {
  Floats made(static_cast<size_t>(count));
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761U + 1;
  for (float& x : made) {
    state = state * 1664525U + 1013904223U;
    x = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return made;
}

bool all_near(const Floats& a, const Floats& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-4F * (1 + std::abs(b[i])))) return false;
  }
  return true;
}

struct Operands {
  Floats images, filter, outputs;
};

Operands operands_for(const ConvolutionSpec& s) {
  return {numbers(s.batch * s.y.in * s.x.in * s.channels, 1),
          numbers(s.y.window * s.x.window * s.channels / s.groups * s.outputs, 2),
          numbers(s.batch * s.y.out * s.x.out * s.outputs, 3)};
}

// visit(image element, filter element, output element) for each product of the convolution.
template <class Visit>
void each_product(const ConvolutionSpec& s, Visit visit) {
  const int64_t channels = s.channels / s.groups, outputs = s.outputs / s.groups;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.y.out; ++oy)
      for (int64_t ox = 0; ox < s.x.out; ++ox)
        for (int64_t ky = 0; ky < s.y.window; ++ky)
          for (int64_t kx = 0; kx < s.x.window; ++kx) {
            const int64_t iy = oy * s.y.stride - s.y.before + ky * s.y.dilation;
            const int64_t ix = ox * s.x.stride - s.x.before + kx * s.x.dilation;
            if (iy < 0 || iy >= s.y.in || ix < 0 || ix >= s.x.in) continue;
            for (int64_t c = 0; c < channels; ++c)
              for (int64_t o = 0; o < s.outputs; ++o)
                visit(((n * s.y.in + iy) * s.x.in + ix) * s.channels + o / outputs * channels + c,
                      ((ky * s.x.window + kx) * channels + c) * s.outputs + o,
                      ((n * s.y.out + oy) * s.x.out + ox) * s.outputs + o);
          }
}

Operands by_formula(const ConvolutionSpec& s, Operands of) {
  Operands made = of;
  Floats& result = s.direction == Direction::forward     ? made.outputs
                   : s.direction == Direction::by_images ? made.images
                                                         : made.filter;
  std::fill(result.begin(), result.end(), 0.0F);
  each_product(s, [&](int64_t x, int64_t w, int64_t y) {
    if (s.direction == Direction::forward) made.outputs[y] += of.images[x] * of.filter[w];
    if (s.direction == Direction::by_images) made.images[x] += of.outputs[y] * of.filter[w];
    if (s.direction == Direction::by_filter) made.filter[w] += of.outputs[y] * of.images[x];
  });
  return made;
}

Operands by_onednn(const Convolution& convolution, Direction direction, Operands of) {
  Floats packed(static_cast<size_t>(convolution.packed_filter_elements()));
  if (direction != Direction::by_filter)
    REQUIRE(convolution.pack_filter(of.filter.data(), packed.data()).ok());
  const auto caller = convolution.caller();
  REQUIRE(caller.ok());
  // A caller may be used again, on other data.
  Operands others = of;
  Floats other_packed = packed;
  REQUIRE((*caller)->run(others.images.data(), other_packed.data(), others.outputs.data()).ok());
  REQUIRE((*caller)->run(of.images.data(), packed.data(), of.outputs.data()).ok());
  if (direction == Direction::by_filter)
    REQUIRE(convolution.unpack_filter(packed.data(), of.filter.data()).ok());
  return of;
}

bool is_missing() {
  if (library() != nullptr) return false;
  MESSAGE("oneDNN is not installed: nothing of it is tested here");
  return true;
}

const ConvolutionSpec kSpecs[] = {
    // 3 x 3 with a border, as SAME pads it; VALID with a stride that leaves a rest; dilated; in
    // groups; 1 x 1; more padding in front than behind.
    {.batch = 2, .channels = 16, .outputs = 32, .y = {9, 9, 3, 1, 1, 1}, .x = {8, 8, 3, 1, 1, 1}},
    {.batch = 1, .channels = 3, .outputs = 8, .y = {11, 5, 3, 2, 1, 0}, .x = {12, 4, 5, 2, 1, 0}},
    {.batch = 2, .channels = 8, .outputs = 16, .y = {9, 5, 3, 1, 2, 0}, .x = {9, 9, 3, 1, 2, 2}},
    {.batch = 1,
     .channels = 16,
     .outputs = 32,
     .groups = 2,
     .y = {6, 6, 3, 1, 1, 1},
     .x = {6, 6, 3, 1, 1, 1}},
    {.batch = 3, .channels = 16, .outputs = 16, .y = {5, 5, 1, 1, 1, 0}, .x = {5, 5, 1, 1, 1, 0}},
    {.batch = 1, .channels = 16, .outputs = 16, .y = {4, 4, 2, 1, 1, 1}, .x = {4, 4, 2, 1, 1, 1}},
    // As many outputs as a block has, of processors with AVX2 and with AVX-512.
    {.batch = 2, .channels = 1, .outputs = 8, .y = {9, 9, 5, 1, 1, 2}, .x = {8, 8, 5, 1, 1, 2}},
    {.batch = 2, .channels = 1, .outputs = 16, .y = {9, 9, 5, 1, 1, 2}, .x = {8, 8, 5, 1, 1, 2}},
};

TEST_CASE("convolutions and both of their gradients are those of the formula") {
  if (is_missing()) return;
  for (ConvolutionSpec spec : kSpecs) {
    for (const Direction direction :
         {Direction::forward, Direction::by_images, Direction::by_filter}) {
      spec.direction = direction;
      CAPTURE(spec.channels);
      CAPTURE(spec.y.in);
      CAPTURE(static_cast<int>(direction));
      const auto made = Convolution::create(spec);
      REQUIRE_MESSAGE(made.ok(), made.status().to_string());
      const Operands of = operands_for(spec);
      const Operands expected = by_formula(spec, of), got = by_onednn(**made, direction, of);
      CHECK(all_near(got.images, expected.images));
      CHECK(all_near(got.filter, expected.filter));
      CHECK(all_near(got.outputs, expected.outputs));
    }
  }
}

TEST_CASE("what was made for a shape is kept for the next time, and a few shapes are kept") {
  if (is_missing()) return;
  Convolutions made;
  ConvolutionSpec spec = kSpecs[0];
  const auto first = made.get(spec);
  REQUIRE(first.ok());
  CHECK(*made.get(spec) == *first);
  const std::weak_ptr<const Convolution> forgotten = *made.get(kSpecs[1]);
  for (int64_t batch = 3; batch < 11; ++batch) {
    spec.batch = batch;
    REQUIRE(made.get(spec).ok());
  }
  CHECK(forgotten.expired());
}

TEST_CASE("many threads may run one convolution") {
  if (is_missing()) return;
  const ConvolutionSpec& spec = kSpecs[0];
  const auto made = Convolution::create(spec);
  REQUIRE(made.ok());
  const Operands of = operands_for(spec), alone = by_onednn(**made, spec.direction, of);
  std::vector<Operands> got(4, of);
  std::vector<std::thread> threads;
  for (Operands& each : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) each = by_onednn(**made, spec.direction, of);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Operands& each : got) CHECK(each.outputs == alone.outputs);
}

TEST_CASE("products are those of the formula, whichever operand is transposed") {
  if (is_missing()) return;
  constexpr int64_t kRows = 33, kInner = 47, kColumns = 21;
  const Floats a = numbers(kRows * kInner, 4), b = numbers(kInner * kColumns, 5);
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      Floats expected(kRows * kColumns, 0.0F), got(kRows * kColumns, 9.0F);
      for (int64_t i = 0; i < kRows; ++i)
        for (int64_t k = 0; k < kInner; ++k)
          for (int64_t j = 0; j < kColumns; ++j)
            expected[i * kColumns + j] += a[a_transposed ? k * kRows + i : i * kInner + k] *
                                          b[b_transposed ? j * kInner + k : k * kColumns + j];
      REQUIRE(multiply({.rows = kRows,
                        .inner = kInner,
                        .columns = kColumns,
                        .a_transposed = a_transposed,
                        .b_transposed = b_transposed,
                        .a_stride = a_transposed ? kRows : kInner,
                        .b_stride = b_transposed ? kInner : kColumns,
                        .c_stride = kColumns},
                       a.data(), b.data(), got.data())
                  .ok());
      CHECK(all_near(got, expected));
    }
  }
}

TEST_CASE("a call leaves OpenMP's number of threads as it was") {
  if (is_missing()) return;
  const Library& lib = *library();
  const int before = lib.get_max_threads();
  lib.set_num_threads(7);
  {
    const OneThread alone(lib);
    CHECK(lib.get_max_threads() == 1);
  }
  CHECK(lib.get_max_threads() == 7);
  lib.set_num_threads(before);
}

}  // namespace
}  // namespace millrace::onednn

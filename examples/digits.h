// Handwritten digits, as far as a formula can write: the pictures of digits.py, pixel by pixel.
#pragma once

#include <millrace/millrace.h>

#include <algorithm>
#include <utility>

#include "numbers.h"

struct Digits {
  millrace::Tensor pictures;  // [count, 64] of float from 0 to 1
  millrace::Tensor labels;    // [count] of int64

  inline static Digits load(int64_t count, uint32_t seed = 0);
  // Some of them, by their numbers.
  inline Digits chosen(const std::vector<int64_t>& numbers) const;

  static Digits of(int64_t count) {
    return {millrace::Tensor::allocate(millrace::DType::f32, {count, 64}).value(),
            millrace::Tensor::allocate(millrace::DType::i64, {count}).value()};
  }
};

// Endless random batches; the same ones for each seed.
class Batches {
 public:
  Batches(const Digits& digits, int64_t size, uint32_t seed)
      : digits_(digits), numbers_(seed), chosen_(size) {}

  Digits next() {
    const auto count = static_cast<uint32_t>(digits_.labels.num_elements());
    for (int64_t& each : chosen_) each = numbers_.below(count);
    return digits_.chosen(chosen_);
  }

 private:
  const Digits& digits_;
  Numbers numbers_;
  std::vector<int64_t> chosen_;
};

inline constexpr const char* kDrawings[6] = {
    ".###. ..#.. .###. .###. ...#. ##### .###. ##### .###. .###.",
    "#...# .##.. #...# #...# ..##. #.... #.... ....# #...# #...#",
    "#...# ..#.. ....# ..##. .#.#. ####. ####. ...#. .###. .####",
    "#...# ..#.. ..##. ....# ##### ....# #...# ..#.. #...# ....#",
    "#...# ..#.. .#... #...# ...#. #...# #...# ..#.. #...# #...#",
    ".###. .###. ##### .###. ...#. .###. .###. ..#.. .###. .###."};

Digits Digits::load(int64_t count, uint32_t seed) {
  Numbers random(seed);
  Digits made = of(count);
  for (int64_t& label : made.labels.mutable_flat<int64_t>()) label = random.below(10);
  const auto pixels = made.pictures.mutable_flat<float>();
  std::ranges::fill(pixels, 0.0F);
  for (int64_t number = 0; number < count; ++number) {
    const double ink = random.uniform(0.6, 1.0);
    const int64_t row = random.below(3), column = random.below(3);
    for (int64_t y = 0; y < 6; ++y) {
      const int64_t shift = column + (random.random() < 0.15 ? 1 : 0);
      const char* stroke = kDrawings[y] + 6 * made.labels.flat<int64_t>()[number];
      for (int64_t x = shift; x < std::min<int64_t>(shift + 5, 8); ++x)
        if (stroke[x - shift] == '#')
          pixels[number * 64 + (row + y) * 8 + x] = static_cast<float>(ink);
    }
  }
  for (float& pixel : pixels)
    pixel = std::clamp(static_cast<float>(pixel + random.normal(0.15)), 0.0F, 1.0F);
  return made;
}

Digits Digits::chosen(const std::vector<int64_t>& numbers) const {
  Digits made = of(static_cast<int64_t>(numbers.size()));
  auto picture = made.pictures.mutable_flat<float>().begin();
  auto label = made.labels.mutable_flat<int64_t>().begin();
  for (const int64_t number : numbers) {
    picture = std::ranges::copy(pictures.flat<float>().subspan(number * 64, 64), picture).out;
    *label++ = labels.flat<int64_t>()[number];
  }
  return made;
}

#include "tests/hostile/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "millrace/tensor/float_types.h"
#include "millrace/tensor/visit_values.h"

namespace millrace::hostile {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

constexpr int64_t kOddIntegers[] = {kMost,
                                    kMost - 1,
                                    kLeast,
                                    kLeast + 1,
                                    kMost / 2,
                                    kMost / 4 + 1,
                                    int64_t{1} << 62,
                                    int64_t{1} << 40,
                                    int64_t{1} << 33,
                                    int64_t{1} << 32,
                                    (1ll << 32) - 1,
                                    1ll << 31,
                                    (1ll << 31) - 1,
                                    -(1ll << 31),
                                    -(1ll << 31) - 1,
                                    1 << 20,
                                    65'536,
                                    65'535,
                                    32'768,
                                    1'000,
                                    256,
                                    255,
                                    128,
                                    127,
                                    -128,
                                    -129,
                                    100,
                                    64,
                                    -1'000'000'007,
                                    4'294'967'291};

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kOddReals[] = {std::numeric_limits<double>::quiet_NaN(),
                                kInfinite,
                                -kInfinite,
                                1e308,
                                -1e308,
                                3.4e38,
                                -3.4e38,
                                65'504,
                                1e19,
                                -1e19,
                                9.3e18,
                                4e9,
                                -4e9,
                                1e-40,
                                5e-324,
                                -0.0,
                                1e-7};

constexpr std::string_view kOddTexts[] = {
    "",
    "a",
    "abc",
    "-1",
    "1e999",
    "9223372036854775808",
    "nan",
    "0x",
    "a,b,\"c\"",
    "\"",
    ",",
    "%s%n%d",
    "{}{}",
    "((((",
    "(a+)+$",
    "\\1\\9",
    "[",
    "*",
    "/",
    "/a/../..",
    "a b  c ",
    "iVBORw0KGgo",
    "====",
    "NHWC",
    "NCHW",
    "SAME",
    "VALID",
    "ab,bc->ac",
    "...a->a...",
    "->",
    "a,a->",
    "\xff\xfe\xfd",
    "\xc3\x28",
    "\xe2\x82",
    "\xf0\x9f\x98\x80",
    std::string_view("a\0b", 3),
    std::string_view("\0\0\0\0\0\0\0\0", 8),
    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    "\x0a\xff\xff\xff\xff\x0f",
    "\x0a\x02\x08\x01",
    "\x78\x9c\xcb\x48",
    "\x1f\x8b\x08",
    "\xff\xd8\xff\xe0",
    "\x89PNG\r\n\x1a\n",
    "GIF89a\xff\xff\xff\xff",
    "BM\xff\xff\xff\xff",
    "RIFF\xff\xff\xff\xffWAVEfmt ",
    "localhost:0",
    "/job:a/task:0/device:CPU:0",
};

template <class T>
T fitted(int64_t value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return static_cast<uint64_t>(value);
  } else {
    return static_cast<T>(
        std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }
}

template <class T>
T drawn(Draw& draw) {
  if constexpr (std::is_same_v<T, bool>) {
    return draw.one_in(2);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return draw.text();
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return static_cast<uint64_t>(draw.integer());
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(
        draw.integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(draw.real()), static_cast<float>(draw.real())};
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return {draw.real(), draw.real()};
  } else {
    return T(static_cast<float>(draw.real()));
  }
}

template <class T>
T small(int64_t value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value % 2 != 0;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return std::string(static_cast<size_t>(std::abs(value) % 4), 'a');
  } else if constexpr (std::is_integral_v<T>) {
    return fitted<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

// What is drawn for every element of larger tensors would only be time.
constexpr int64_t kDrawnEach = 256;

enum class Manner : uint8_t { counting, equal, small, odd, zero };

template <class T>
void fill(Draw& draw, std::span<T> elements) {
  constexpr std::array kManners = {Manner::counting, Manner::equal, Manner::small, Manner::small,
                                   Manner::small,    Manner::odd,   Manner::zero};
  const Manner manner = draw.pick(kManners);
  const T one = drawn<T>(draw);
  for (int64_t i = 0; i < static_cast<int64_t>(elements.size()); ++i) {
    T& element = elements[static_cast<size_t>(i)];
    if (i >= kDrawnEach) {
      element = elements[static_cast<size_t>(i % kDrawnEach)];
      continue;
    }
    switch (manner) {
      case Manner::counting:
        element = small<T>(i);
        break;
      case Manner::equal:
        element = one;
        break;
      case Manner::small:
        element = small<T>(draw.below(5) - (draw.one_in(8) ? 2 : 0));
        break;
      case Manner::odd:
        element = drawn<T>(draw);
        break;
      case Manner::zero:
        element = T();
        break;
    }
  }
}

}  // namespace

// SplitMix64: any seed is as good as another, neighbours too.
uint64_t Draw::next() {
  state_ += 0x9e3779b97f4a7c15ull;
  uint64_t mixed = state_;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  return mixed ^ (mixed >> 31);
}

int64_t Draw::integer(int64_t lowest, int64_t highest) {
  switch (below(8)) {
    case 0:
      return std::clamp<int64_t>(pick(kOddIntegers), lowest, highest);
    case 1:
      return one_in(2) ? highest - below(2) : lowest + below(2);
    case 2:
      return std::clamp<int64_t>(-1 - below(3), lowest, highest);
    default:
      return below(6);
  }
}

double Draw::real() {
  if (one_in(4)) return pick(kOddReals);
  return static_cast<double>(below(4001) - 2000) / 500;
}

std::string Draw::text() {
  std::string made(pick(kOddTexts));
  if (one_in(6)) made += pick(kOddTexts);
  if (one_in(6) && !made.empty())
    made[static_cast<size_t>(below(static_cast<int64_t>(made.size())))] =
        static_cast<char>(below(256));
  if (one_in(40)) made.append(static_cast<size_t>(below(3000)), 'x');
  return made;
}

Shape Draw::shape() {
  std::vector<int64_t> dims(static_cast<size_t>(one_in(20) ? below(10) : below(5)));
  for (int64_t& dim : dims) dim = one_in(10) ? 0 : 1 + below(4);
  if (!dims.empty() && one_in(20)) {
    // Nothing is in it, and yet it is large.
    for (int64_t& dim : dims) dim = 1 + below(3);
    dims[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))] = 0;
    constexpr int64_t kLong[] = {kMost / 8, int64_t{1} << 40, int64_t{1} << 31, 1 << 20};
    int64_t& other = dims[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))];
    other = other == 0 ? 0 : pick(kLong);
  } else if (!dims.empty() && one_in(30)) {
    std::fill(dims.begin(), dims.end(), 1);
    dims[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))] = 1 + below(100'000);
  }
  auto made = Shape::create(dims);
  return made.ok() ? *made : Shape{0};
}

PartialShape Draw::wide(const Shape& like) {
  constexpr int64_t kLong[] = {kMost, kMost - 1, int64_t{1} << 62, int64_t{1} << 40,
                               int64_t{1} << 31};
  std::vector<int64_t> dims(like.dims().begin(), like.dims().end());
  for (int64_t& dim : dims) {
    if (one_in(2)) dim = kUnknownDim;
  }
  if (!dims.empty())
    dims[static_cast<size_t>(below(static_cast<int64_t>(dims.size())))] = pick(kLong);
  auto made = PartialShape::create(dims);
  return made.ok() ? *std::move(made) : PartialShape();
}

Shape Draw::changed(const Shape& like) {
  std::vector<int64_t> dims(like.dims().begin(), like.dims().end());
  const auto place = [&] {
    return static_cast<size_t>(below(static_cast<int64_t>(std::max<size_t>(dims.size(), 1))));
  };
  switch (below(7)) {
    case 0:
      dims.insert(dims.begin() + static_cast<int64_t>(dims.empty() ? 0 : place()), 1 + below(2));
      break;
    case 1:
      if (!dims.empty()) dims.erase(dims.begin() + static_cast<int64_t>(place()));
      break;
    case 2:
      if (!dims.empty()) dims[place()] = 0;
      break;
    case 3:
      if (!dims.empty()) dims[place()] += 1;
      break;
    case 4:
      if (!dims.empty()) dims[place()] = 1;
      break;
    case 5:
      if (dims.size() > 1) std::swap(dims[place()], dims[place()]);
      break;
    default:
      return shape();
  }
  auto made = Shape::create(dims);
  return made.ok() && made->num_elements() <= 100'000 ? *made : Shape{0};
}

Result<Tensor> Draw::tensor(DType dtype, const Shape& shape) {
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype, shape));
  const bool is_known =
      visit_values(dtype, [&]<class T>(T) { fill<T>(*this, made.mutable_flat<T>()); });
  if (is_known) return made;
  if (!is_plain(dtype)) return invalid("nothing is drawn for type ", dtype_name(dtype));
  // Types without arithmetic are their bits.
  auto* bytes = static_cast<uint8_t*>(made.mutable_data());
  for (size_t i = 0; i < made.num_bytes(); ++i) bytes[i] = static_cast<uint8_t>(below(256));
  return made;
}

void Draw::spoil(Tensor& tensor) {
  if (tensor.num_elements() == 0) return;
  visit_values(tensor.dtype(), [&]<class T>(T) {
    tensor.mutable_flat<T>()[static_cast<size_t>(below(tensor.num_elements()))] = drawn<T>(*this);
  });
}

}  // namespace millrace::hostile

#include "millrace/ops/loops/strided_slice.h"

#include <limits>

#include <doctest/doctest.h>

namespace millrace {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

std::string plan(const PartialShape& input, std::vector<int64_t> begin, std::vector<int64_t> end,
                 std::vector<int64_t> strides, SliceMasks masks = {}) {
  const auto made = plan_slice(input, {begin.size(), begin, end, strides, masks});
  if (!made.ok()) return made.status().message();
  return PartialShape::create(made->output)->to_string();
}

TEST_CASE("ranges are clamped to the tensor, whatever the numbers") {
  CHECK(plan({5}, {kLowest}, {kHighest}, {1}) == "[5]");
  CHECK(plan({5}, {kHighest}, {kLowest}, {kLowest}) == "[1]");
  CHECK(plan({5}, {0}, {5}, {kHighest}) == "[1]");
  CHECK(plan({5}, {-1}, {-6}, {-2}) == "[3]");
  CHECK(plan({0}, {0}, {0}, {-1}, {.begin = 1, .end = 1}) == "[0]");
}

TEST_CASE("an ellipsis stands for the axes that nobody speaks of") {
  CHECK(plan({2, 3, 4}, {0, 0}, {0, 1}, {1, 1}, {.ellipsis = 1}) == "[2,3,1]");
  CHECK(plan({2, 3, 4}, {0, 0, 0}, {1, 0, 1}, {1, 1, 1}, {.ellipsis = 2, .new_axis = 4}) ==
        "[1,3,4,1]");
  CHECK(plan({2, 3, 4}, {0, 0, 1}, {1, 0, 0}, {1, 1, 1}, {.ellipsis = 2, .shrink_axis = 5}) ==
        "[3]");
}

TEST_CASE("what can't be is refused in TensorFlow's words") {
  CHECK(plan({2}, {0, 0}, {1, 1}, {1, 1}) ==
        "Index out of range using input dim 1; input has only 1 dims");
  CHECK(plan({2}, {2}, {0}, {1}, {.shrink_axis = 1}) ==
        "slice index 2 of dimension 0 out of bounds.");
  CHECK(plan({2}, {kLowest}, {0}, {1}, {.shrink_axis = 1}).starts_with("slice index -"));
  CHECK(plan({2}, {0}, {1}, {0}) == "strides[0] must be non-zero");
  CHECK(plan({2}, {0, 0}, {0, 0}, {1, 1}, {.ellipsis = 3}) ==
        "Multiple ellipses in slice spec not allowed");
}

TEST_CASE("what is not known stays open, and nothing else") {
  const PartialShape input = {kUnknownDim, 4};
  CHECK(plan(input, {0, 1}, {2, 3}, {1, 1}) == "[?,2]");
  CHECK(plan(input, {0, 1}, {2, 3}, {1, 1}, {.shrink_axis = 1}) == "[2]");
  const auto open = plan_slice({3, 4}, {2, {}, {}, {}, {.new_axis = 1, .shrink_axis = 2}});
  CHECK(PartialShape::create(open->output)->to_string() == "[1,4]");
}

}  // namespace
}  // namespace millrace

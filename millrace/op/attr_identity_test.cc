#include "millrace/op/attr_identity.h"

#include <limits>

#include <doctest/doctest.h>

namespace millrace {
namespace {

bool same(const AttrValue& a, const AttrValue& b) {
  const Attrs left = {{"a", a}}, right = {{"a", b}};
  const bool are_same = are_identical(left, right);
  if (are_same) CHECK(hash_of(left) == hash_of(right));
  return are_same;
}

TEST_CASE("floats are the same to the last bit") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(same(0.0f, -0.0f));
  CHECK(same(nan, nan));
  CHECK_FALSE(same(std::vector<float>{0.0f}, std::vector<float>{-0.0f}));
}

TEST_CASE("tensors are the same if type, shape and bytes are") {
  CHECK(same(Tensor::vector<int32_t>({1, 2}), Tensor::vector<int32_t>({1, 2})));
  CHECK_FALSE(same(Tensor::vector<int32_t>({1, 2}), Tensor::vector<int32_t>({1, 3})));
  CHECK_FALSE(same(Tensor::vector<int32_t>({1}), Tensor::scalar<int32_t>(1)));
  CHECK_FALSE(same(Tensor::scalar<int32_t>(0), Tensor::scalar(0.0f)));
  CHECK_FALSE(same(Tensor::scalar(0.0f), Tensor::scalar(-0.0f)));
}

TEST_CASE("an attribute more, or under another name, makes a difference") {
  CHECK_FALSE(are_identical({{"a", 1}}, {{"a", 1}, {"b", 1}}));
  CHECK_FALSE(are_identical({{"a", 1}}, {{"b", 1}}));
}

TEST_CASE("functions and lists of tensors are not compared") {
  CHECK(can_be_identical({{"a", "text"}, {"b", std::vector<int64_t>{1}}}));
  CHECK_FALSE(can_be_identical({{"f", FunctionRef{.name = "f", .attrs = {}}}}));
  CHECK_FALSE(can_be_identical({{"v", std::vector<Tensor>{Tensor::scalar(1.0f)}}}));
}

}  // namespace
}  // namespace millrace

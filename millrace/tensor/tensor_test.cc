#include "millrace/tensor/tensor.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/tensor/visit_dtype.h"

namespace {
// Per thread, so that other threads of the test program don't count.
thread_local int allocations = 0;
}  // namespace

// Not inline, or g++ holds that what `new` gave goes to `free`.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* block = std::malloc(size ? size : 1)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, size_t) noexcept { std::free(block); }

namespace millrace {
namespace {

TEST_CASE("a small tensor costs one allocation") {
  const int before = allocations;
  {
    const Tensor scalar = Tensor::scalar(1.0f);
    CHECK(allocations - before == 1);
  }
  const int between = allocations;
  {
    const Tensor text = Tensor::allocate(DType::string, Shape()).value();
    CHECK(allocations - between == 1);
  }
}

TEST_CASE("every dtype can be allocated, zeroed, cloned and compared") {
  for (int number = 1; number <= kMaxDType; ++number) {
    const DType dtype = dtype_from_number(number).value();
    CAPTURE(dtype_name(dtype));
    const Tensor zeros = Tensor::zeros(dtype, {2, 3}).value();
    CHECK(zeros.num_bytes() == 6 * dtype_size(dtype));
    CHECK(Tensor::allocate(dtype, {2, 3}).ok());
    const Tensor copy = zeros.clone().value();
    CHECK(copy == zeros);
    CHECK(copy.data() != zeros.data());
    CHECK_FALSE(copy == Tensor::zeros(dtype, {3, 2}).value());
  }
}

TEST_CASE("a tensor without elements has a buffer and nothing in it") {
  for (const DType dtype : {DType::f32, DType::string}) {
    const Tensor empty = Tensor::allocate(dtype, {2, 0}).value();
    CHECK(empty.num_elements() == 0);
    CHECK(empty.is_sole_owner());
    CHECK(empty == Tensor::zeros(dtype, {2, 0}).value());
    CHECK(empty.rows(1, 2).value().shape() == Shape{1, 0});
  }
}

TEST_CASE("no value is not a tensor of anything") {
  const Tensor none;
  CHECK_FALSE(none.has_value());
  CHECK_FALSE(none.is_sole_owner());
  CHECK(none.num_bytes() == 0);
  CHECK(none == Tensor());
  CHECK_FALSE(none == Tensor::scalar(0));
  CHECK_FALSE(none.clone().value().has_value());
  CHECK(none.to_string() == "no value");
}

TEST_CASE("impossible tensors give errors") {
  CHECK(Tensor::allocate(DType::invalid, {1}).status().code() == Code::invalid_argument);
  const Shape huge{std::numeric_limits<int64_t>::max()};
  CHECK(Tensor::allocate(DType::f64, huge).status().code() == Code::invalid_argument);
  CHECK(Tensor::allocate(DType::u8, huge).status().code() == Code::resource_exhausted);
  CHECK(Tensor::allocate(DType::string, {int64_t{1} << 50}).status().code() ==
        Code::resource_exhausted);
}

TEST_CASE("strings live and die with their buffer, large arrays of them too") {
  Tensor text = Tensor::vector<std::string>({"a", std::string(1000, 'x'), ""});
  CHECK(text.flat<std::string>()[1].size() == 1000);
  Tensor many = Tensor::allocate(DType::string, {20000}).value();
  for (std::string& item : many.mutable_flat<std::string>()) item.assign(40, 'y');
  CHECK(many.clone().value() == many);
}

TEST_CASE("a tensor stands on memory of somebody else") {
  alignas(8) char bytes[32] = {};
  int released = 0;
  {
    auto buffer = Buffer::borrow(bytes, sizeof(bytes), [&] { ++released; });
    const Tensor t = Tensor::on_buffer(DType::f32, {2, 2}, buffer, 8).value();
    CHECK(t.data() == bytes + 8);
    CHECK_FALSE(Tensor::on_buffer(DType::f32, {8}, buffer, 4).ok());
    CHECK_FALSE(Tensor::on_buffer(DType::f32, {1}, buffer, 40).ok());
    CHECK_FALSE(Tensor::on_buffer(DType::string, {1}, buffer).ok());
    CHECK_FALSE(Tensor::on_buffer(DType::f32, {1}, nullptr).ok());
    CHECK(Tensor::on_buffer(DType::u8, {1}, buffer, 3).ok());
    CHECK(Tensor::on_buffer(DType::f64, {1}, buffer, 4).status().message() ==
          "double[1] needs bytes aligned to 8; offset 4 of this buffer is not: copy them");
  }
  CHECK(released == 1);
}

TEST_CASE("reshaping and rows share the buffer") {
  const Tensor t = Tensor::of<int32_t>({3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(t.reshaped({2, 3}).value().data() == t.data());
  CHECK(t.is_sole_owner());
  const Tensor tail = t.rows(1, 3).value();
  CHECK_FALSE(t.is_sole_owner());
  CHECK(tail == Tensor::of<int32_t>({2, 2}, {3, 4, 5, 6}));
  CHECK(t.rows(3, 3).value().num_elements() == 0);
  CHECK_FALSE(t.reshaped({4}).ok());
  CHECK_FALSE(t.rows(2, 1).ok());
  CHECK_FALSE(t.rows(-1, 1).ok());
  CHECK_FALSE(t.rows(0, 4).ok());
  CHECK_FALSE(Tensor::scalar(1).rows(0, 1).ok());
  const Tensor texts = Tensor::vector<std::string>({"a", "b"});
  CHECK(texts.rows(1, 2).value() == Tensor::vector<std::string>({"b"}));
}

TEST_CASE("a sole owner may write what another thread has read and dropped") {
  Tensor t = Tensor::scalar<int64_t>(1);
  std::thread reader([copy = t] { CHECK(copy.item<int64_t>() == 1); });
  while (!t.is_sole_owner()) std::this_thread::yield();
  t.mutable_flat<int64_t>()[0] = 2;
  reader.join();
}

TEST_CASE("tensors compare by value") {
  CHECK_FALSE(Tensor::scalar(1) == Tensor::scalar(2));
  CHECK_FALSE(Tensor::scalar(1) == Tensor::scalar(1.0f));
  CHECK(Tensor::scalar(0.0f) == Tensor::scalar(-0.0f));
  CHECK_FALSE(Tensor::scalar(std::nanf("")) == Tensor::scalar(std::nanf("")));
  CHECK(Tensor::scalar(Half(1.5f)) == Tensor::scalar(Half(1.5f)));
  CHECK(Tensor::scalar(Variant{"t", "m", {}}) ==
        Tensor::scalar(Variant{"t", "m", {Tensor::scalar(1)}}));
  ResourceHandle handle;
  handle.name = "a";
  CHECK(Tensor::scalar(handle) == Tensor::scalar(handle));
  CHECK_FALSE(Tensor::scalar(handle) == Tensor::scalar(ResourceHandle()));
}

TEST_CASE("tensors print") {
  CHECK(Tensor::vector<int32_t>({1, 2, 3}).to_string() == "int32[3] 1 2 3");
  CHECK(Tensor::vector<int32_t>({1, 2, 3}).to_string(2) == "int32[3] 1 2 ... (1 more)");
  CHECK(Tensor::scalar(uint8_t{65}).to_string() == "uint8[] 65");
  CHECK(Tensor::scalar(true).to_string() == "bool[] true");
  CHECK(Tensor::scalar(1.5).to_string() == "double[] 1.5");
  CHECK(Tensor::scalar(BFloat16(2.5f)).to_string() == "bfloat16[] 2.5");
  CHECK(Tensor::scalar(std::complex<float>(1, -2)).to_string() == "complex64[] (1,-2)");
  CHECK(Tensor::scalar(std::string("a\n")).to_string() == "string[] \"a\\n\"");
}

TEST_CASE("memory that is lent for a step is never written to, and copied by who keeps it") {
  float bytes[] = {1, 2};
  int released = 0;
  Tensor lent =
      Tensor::on_buffer(DType::f32, {2},
                        Buffer::borrow_for_step(bytes, sizeof(bytes), [&] { ++released; }))
          .value();
  CHECK(!lent.is_sole_owner());
  const Tensor kept = lent.rows(1, 2).value().kept().value();
  lent = Tensor();
  CHECK(released == 1);
  bytes[1] = 7;
  CHECK(kept == Tensor::vector<float>({2}));
  CHECK(kept.kept().value().data() == kept.data());
}

TEST_CASE("half floats round to nearest, ties to even") {
  CHECK(static_cast<float>(Half(65504.0f)) == 65504.0f);
  CHECK(Half(65520.0f).bits == 0x7c00);
  CHECK(Half(5.9604645e-8f).bits == 0x0001);
  CHECK(Half(2049.0f).bits == Half(2048.0f).bits);
  CHECK(Half(2051.0f).bits == Half(2052.0f).bits);
  CHECK(BFloat16(1.00390625f).bits == 0x3f80);
  CHECK(BFloat16(1.01171875f).bits == 0x3f82);
  CHECK(std::isnan(static_cast<float>(Half(std::nanf("")))));
  CHECK(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    Half half;
    half.bits = static_cast<uint16_t>(bits);
    if (Half(static_cast<float>(half)).bits != bits) FAIL("half does not round-trip: ", bits);
  }
}

}  // namespace
}  // namespace millrace

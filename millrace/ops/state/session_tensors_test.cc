// Tensors that sessions keep, through their ops: found by handles, gone with a deletion or the
// kernel.
#include <doctest/doctest.h>

#include "millrace/ops/state/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

class Keeping {
 public:
  Keeping() : bench_((REQUIRE(register_session_tensors(ops_).ok()), ops_)) {}

  std::unique_ptr<Running> keep(Tensor tensor, std::string_view op = "GetSessionHandle") {
    return bench_.start(op, {std::move(tensor)}, {.name = "kept"}).value();
  }
  Result<Tensor> get(const Tensor& handle, DType dtype = DType::f32) {
    MR_ASSIGN(auto got, bench_.run("GetSessionTensor", {handle}, {.attrs = {{"dtype", dtype}}}));
    return got[0].tensor;
  }
  Status drop(const Tensor& handle) { return bench_.run("DeleteSessionTensor", {handle}).status(); }

 private:
  OpRegistry ops_;
  Bench bench_;
};

TEST_CASE("a handle begins with the node's name, ends with the device, and finds its tensor") {
  Keeping session;
  const auto first = session.keep(Tensor::scalar(1.f)), second = session.keep(Tensor::scalar(2.f));
  const Tensor one = first->outputs().value()[0].tensor, two = second->outputs().value()[0].tensor;
  CHECK(one.item<std::string>().starts_with("kept;"));
  CHECK(one.item<std::string>().ends_with(";/job:localhost/replica:0/task:0/device:CPU:0"));
  CHECK(one != two);
  CHECK(session.get(one).value() == Tensor::scalar(1.f));
  CHECK(session.get(two).value() == Tensor::scalar(2.f));
  CHECK(session.get(two, DType::i32).status().code() == Code::internal);
}

TEST_CASE("a tensor is gone once it was deleted, or its kernel ended with the session") {
  Keeping session;
  auto kernel = session.keep(Tensor::scalar(1.f));
  const Tensor handle = kernel->outputs().value()[0].tensor;
  const auto other = session.keep(Tensor::scalar(2.f));
  const Tensor deleted = other->outputs().value()[0].tensor;
  REQUIRE(session.drop(deleted).ok());
  CHECK(session.get(deleted).status().message() == str_cat("The tensor with handle '",
                                                           deleted.item<std::string>(),
                                                           "' is not in the session store."));
  CHECK(session.drop(deleted).message().find("Failed to delete a tensor with handle '") == 0);
  CHECK(session.get(handle).ok());
  kernel = nullptr;
  CHECK_FALSE(session.get(handle).ok());
}

TEST_CASE("the second version gives the handle as a resource") {
  Keeping session;
  const auto kernel = session.keep(Tensor::scalar(1.f), "GetSessionHandleV2");
  const Tensor handle = kernel->outputs().value()[0].tensor;
  CHECK(session.get(Tensor::scalar(handle.item<ResourceHandle>().name)).value() ==
        Tensor::scalar(1.f));
}

}  // namespace
}  // namespace millrace

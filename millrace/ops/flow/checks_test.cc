// Print: where its lines are written, and what waits for that.
#include <unistd.h>

#include <array>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/ops/flow/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

// A place for blocking work where nothing goes on until the test says so.
class InLine final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  size_t size() const { return tasks_.size(); }
  void go_on() {
    for (Task& task : std::exchange(tasks_, {})) task();
  }

 private:
  std::vector<Task> tasks_;
};

// What is written to standard error while this lives.
class CaughtErrors {
 public:
  CaughtErrors() : before_(::dup(STDERR_FILENO)) {
    REQUIRE(::pipe(ends_.data()) == 0);
    ::dup2(ends_[1], STDERR_FILENO);
  }
  ~CaughtErrors() {
    ::dup2(before_, STDERR_FILENO);
    for (const int descriptor : {before_, ends_[0], ends_[1]}) ::close(descriptor);
  }
  // Something must have been written.
  std::string read() const {
    std::array<char, 200> bytes{};
    const ssize_t count = ::read(ends_[0], bytes.data(), bytes.size());
    return {bytes.data(), static_cast<size_t>(std::max<ssize_t>(count, 0))};
  }

 private:
  const int before_;
  std::array<int, 2> ends_{};
};

struct Printing {
  OpRegistry ops;
  InLine line;
  std::unique_ptr<Bench> bench;
  Printing() {
    REQUIRE(register_flow(ops).ok());
    bench = std::make_unique<Bench>(ops);
    bench->step().blocking = &line;
  }
  std::unique_ptr<Running> start(std::string_view op, std::vector<Value> inputs, Attrs attrs) {
    auto running = bench->start(op, std::move(inputs), {.attrs = std::move(attrs)});
    REQUIRE_MESSAGE(running.ok(), running.status().to_string());
    return *std::move(running);
  }
};

TEST_CASE("Print writes its line where blocking is allowed, and is done when it is written") {
  Printing f;
  const Tensor x = Tensor::vector<int32_t>({1, 2});
  const auto running = f.start("Print", {x, Tensor::scalar<int32_t>(7)}, {{"message", "seven: "}});
  CHECK_FALSE(running->is_done());
  {
    const CaughtErrors errors;
    f.line.go_on();
    CHECK(errors.read() == "seven: [7]\n");
  }
  REQUIRE(running->is_done());
  CHECK((*running->outputs())[0].tensor == x);
}

TEST_CASE("Print that has printed often enough waits for nobody") {
  Printing f;
  const auto running = f.start("Print", {Tensor::scalar(1.0f)}, {{"first_n", int64_t{0}}});
  REQUIRE(running->is_done());
  CHECK(running->status().ok());
  CHECK(f.line.size() == 0);
}

TEST_CASE("PrintV2 writes its text and end where blocking is allowed") {
  Printing f;
  const auto running =
      f.start("PrintV2", {Tensor::scalar(std::string("words"))}, {{"end", std::string("!\n")}});
  CHECK_FALSE(running->is_done());
  {
    const CaughtErrors errors;
    f.line.go_on();
    CHECK(errors.read() == "words!\n");
  }
  REQUIRE(running->is_done());
  CHECK(running->status().ok());
}

TEST_CASE("what is to hold, and what is to be written, is one value without a shape") {
  OpRegistry ops;
  REQUIRE(register_flow(ops).ok());
  const Tensor holds = Tensor::scalar(true);
  CHECK(run_op(ops, "Assert", {holds, holds}).ok());
  CHECK(run_op(ops, "Assert", {*holds.reshaped(Shape{1}), holds}).status().message() ==
        "In[0] should be a scalar: [1]");
  const Tensor words = *Tensor::scalar(std::string("words")).reshaped(Shape{1});
  CHECK(run_op(ops, "PrintV2", {words}).status().message() ==
        "Input is expected to be scalar, but got [1]");
}

TEST_CASE("a step that ends takes Print with it, whether anybody reads or not") {
  Printing f;
  const auto running = f.start("PrintV2", {Tensor::scalar(std::string("words"))}, {});
  f.bench->cancellation().cancel(aborted("enough"));
  REQUIRE(running->is_done());
  CHECK(running->status() == aborted("enough"));
}

}  // namespace
}  // namespace millrace

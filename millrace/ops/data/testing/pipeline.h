// Pipelines of tests: datasets made by their ops on one device, with functions written in C++.
//
//   Pipeline made;
//   const Tensor numbers = made.range(4);
//   CHECK(made.all(made.derive("RepeatDataset", {numbers, number(2)})) == "0 1 2 3 0 1 2 3");
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "millrace/base/runner.h"
#include "millrace/ops/data/dataset.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace::data::testing {

// Functions of a graph that are functions of C++, and may be told to wait.
class Functions final : public FunctionSpace {
 public:
  using Function = std::function<Result<Element>(std::vector<Tensor>)>;

  void add(const std::string& name, std::vector<DType> takes, std::vector<DType> gives,
           Function function);
  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef& function) override;
  Status check_stateless(const FunctionRef& function) const override {
    if (!with_state.contains(function.name)) return {};
    return failed_precondition(function.name, " is stateful.");
  }
  std::set<std::string> with_state;

  // From now on calls wait, until they are answered one by one.
  void hold() { holds_ = true; }
  size_t num_held() const { return held_.size(); }
  void answer(size_t index = 0);
  // Whether a call that waits has been told to end.
  bool is_cancelled(size_t index = 0) const {
    return held_.at(index).run->cancellation.cancelled();
  }

 private:
  struct Known {
    std::vector<DType> takes, gives;
    Function function;
  };
  struct Held {
    const Known* function;
    std::shared_ptr<FunctionRun> run;
  };
  class Instance;
  static void call(const Known& function, FunctionRun& run);

  std::map<std::string, Known> known_;
  bool holds_ = false;
  std::deque<Held> held_;
};

// A pool whose work is done when the test says so.
class HandPool final : public Runner {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  int breadth() const override { return breadth_; }
  void set_breadth(int breadth) { breadth_ = breadth; }
  // False if there is none.
  bool run_one();
  void run_all() {
    while (run_one()) {
    }
  }

 private:
  std::deque<Task> tasks_;
  int breadth_ = 1;
};

class Pipeline {
 public:
  Pipeline();

  Tensor range(int64_t stop);
  // The dataset that an op makes; its components are those of `like` unless attributes say so.
  Tensor derive(const std::string& op, std::vector<Tensor> inputs, Attrs attrs = {});
  Status status_of(const std::string& op, std::vector<Tensor> inputs, Attrs attrs = {});

  // A new iterator that walks along the dataset.
  Tensor iterator(const Tensor& dataset, std::vector<DType> types = {DType::i64});
  // IteratorGetNext: may still wait.
  std::unique_ptr<Running> next(const Tensor& iterator, std::vector<DType> types = {DType::i64});
  // One element as text: "3", "3 4" for several components; an error as its message.
  std::string get(const Tensor& iterator, std::vector<DType> types = {DType::i64});
  // All elements: "0 1 2"; components of one joined by commas, and what comes after in words.
  std::string all(const Tensor& dataset, std::vector<DType> types = {DType::i64});

  static Attrs outputs(std::vector<DType> types);

  OpRegistry ops;
  std::shared_ptr<Functions> functions;
  HandPool pool;
  std::unique_ptr<Bench> bench;

 private:
  int made_ = 0;
};

inline Tensor number(int64_t value) { return Tensor::scalar(value); }
inline Tensor flag(bool value) { return Tensor::scalar(value); }
inline Attrs calling(const std::string& function, Attrs attrs) {
  attrs.set("f", FunctionRef{function, {}});
  return attrs;
}
// Values of a tensor, without its type: "1", "[1 2]".
std::string text_of(const Tensor& tensor);

}  // namespace millrace::data::testing

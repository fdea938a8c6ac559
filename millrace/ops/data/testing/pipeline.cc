#include "millrace/ops/data/testing/pipeline.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/state/families.h"

namespace millrace::data::testing {

class Functions::Instance final : public GraphFunction {
 public:
  Instance(Functions& all, const Known& known) : all_(all), known_(known) {}
  const std::vector<DType>& argument_types() const override { return known_.takes; }
  const std::vector<DType>& result_types() const override { return known_.gives; }
  void run(std::shared_ptr<FunctionRun> run) override {
    if (all_.holds_) {
      all_.held_.push_back({&known_, std::move(run)});
    } else {
      call(known_, *run);
    }
  }

 private:
  Functions& all_;
  const Known& known_;
};

void Functions::add(const std::string& name, std::vector<DType> takes, std::vector<DType> gives,
                    Function function) {
  known_[name] = {std::move(takes), std::move(gives), std::move(function)};
}

Result<std::shared_ptr<GraphFunction>> Functions::instantiate(const FunctionRef& function) {
  const auto found = known_.find(function.name);
  if (found == known_.end()) return not_found("Function ", function.name, " is not defined");
  return std::shared_ptr<GraphFunction>(std::make_shared<Instance>(*this, found->second));
}

void Functions::call(const Known& function, FunctionRun& run) {
  if (run.cancellation.cancelled()) return run.ended(run.cancellation.reason());
  Result<Element> made = function.function(std::move(run.arguments));
  if (!made.ok()) return run.ended(made.status());
  run.results = *std::move(made);
  run.ended({});
}

void Functions::answer(size_t index) {
  const Held held = held_.at(index);
  held_.erase(held_.begin() + static_cast<ptrdiff_t>(index));
  call(*held.function, *held.run);
}

bool HandPool::run_one() {
  if (tasks_.empty()) return false;
  Task task = std::move(tasks_.front());
  tasks_.pop_front();
  task();
  return true;
}

Pipeline::Pipeline() : functions(std::make_shared<Functions>()) {
  REQUIRE(register_data(ops).ok());
  bench = std::make_unique<Bench>(ops);
  bench->set_functions(functions);
  bench->step().task_pool = &pool;
}

Attrs Pipeline::outputs(std::vector<DType> types) {
  Attrs attrs;
  attrs.set("output_shapes",
            AttrValue::List<PartialShape>(std::vector<PartialShape>(types.size())));
  attrs.set("output_types", AttrValue::List<DType>(std::move(types)));
  return attrs;
}

Tensor Pipeline::range(int64_t stop) {
  return derive("RangeDataset", {number(0), number(stop), number(1)});
}

Tensor Pipeline::derive(const std::string& op, std::vector<Tensor> inputs, Attrs attrs) {
  if (attrs.find("output_types") == nullptr) {
    for (const auto& [name, value] : outputs({DType::i64})) {
      if (attrs.find(name) == nullptr) attrs.set(name, value);
    }
  }
  auto made = bench->run(op, {inputs.begin(), inputs.end()},
                         {.name = str_cat("node", ++made_), .attrs = std::move(attrs)});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return (*made)[0].tensor;
}

Status Pipeline::status_of(const std::string& op, std::vector<Tensor> inputs, Attrs attrs) {
  for (const auto& [name, value] : outputs({DType::i64})) {
    if (attrs.find(name) == nullptr) attrs.set(name, value);
  }
  return bench->run(op, {inputs.begin(), inputs.end()}, {.attrs = std::move(attrs)}).status();
}

Tensor Pipeline::iterator(const Tensor& dataset, std::vector<DType> types) {
  Attrs attrs = outputs(std::move(types));
  attrs.set("shared_name", str_cat("iterator", ++made_));
  attrs.set("container", "");
  auto handle = bench->run("IteratorV2", {}, {.attrs = std::move(attrs)});
  REQUIRE_MESSAGE(handle.ok(), handle.status().to_string());
  const auto made = bench->run("MakeIterator", {dataset, (*handle)[0]});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return (*handle)[0].tensor;
}

std::unique_ptr<Running> Pipeline::next(const Tensor& iterator, std::vector<DType> types) {
  auto started = bench->start("IteratorGetNext", {iterator}, {.attrs = outputs(std::move(types))});
  REQUIRE_MESSAGE(started.ok(), started.status().to_string());
  return *std::move(started);
}

std::string Pipeline::get(const Tensor& iterator, std::vector<DType> types) {
  const auto running = next(iterator, std::move(types));
  pool.run_all();
  REQUIRE(running->is_done());
  const auto made = running->outputs();
  if (!made.ok()) return made.status().message();
  std::string text;
  for (const Value& component : *made)
    str_append(&text, text.empty() ? "" : ",", text_of(component.tensor));
  return text;
}

std::string Pipeline::all(const Tensor& dataset, std::vector<DType> types) {
  const Tensor walk = iterator(dataset, types);
  std::string text;
  for (int count = 0; count < 100; ++count) {
    const std::string element = get(walk, types);
    if (element == "End of sequence") return text;
    str_append(&text, text.empty() ? "" : " ", element);
  }
  return text + " ...";
}

std::string text_of(const Tensor& tensor) {
  std::string text = tensor.to_string(64);
  // "int64[2] 1 2"
  const size_t space = text.find(' ');
  text = space == std::string::npos ? "" : text.substr(space + 1);
  return tensor.shape().rank() == 0 ? text : str_cat("[", text, "]");
}

}  // namespace millrace::data::testing

// RemoteCalls that read where they go when they run.
#include "doctest/doctest.h"

#include "millrace/ops/flow/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

constexpr const char* kOwn = "/job:worker/replica:0/task:1/device:CPU:0";
constexpr const char* kOther = "/job:worker/replica:0/task:1/device:CPU:1";

const OpRegistry& flow_ops() {
  static const OpRegistry& ops = *[] {
    auto* made = new OpRegistry();
    REQUIRE(register_flow(*made).ok());
    return made;
  }();
  return ops;
}

Result<int32_t> place_of(Tensor target, const std::string& within = "") {
  MR_ASSIGN(const auto outputs,
            run_op(flow_ops(), "_RemoteDevice", {std::move(target)},
                   {{"devices", std::vector<std::string>{kOwn, kOther}}, {"within", within}}));
  return outputs[0].item<int32_t>();
}

Result<int32_t> place_of(const std::string& target, const std::string& within = "") {
  return place_of(Tensor::scalar(target), within);
}

TEST_CASE("a device is found by its name, in any spelling and completed by that of the call") {
  CHECK(place_of(kOther).value() == 1);
  CHECK(place_of("/job:worker/task:1/cpu:1").value() == 1);
  CHECK(place_of("/cpu:1", "/job:worker/task:1").value() == 1);
  CHECK(place_of("/job:worker", "/cpu:1").value() == 1);
  CHECK(place_of("").value() == 0);
  CHECK(place_of("", "/cpu:1").value() == 1);
}

TEST_CASE("a name of no device is told with those that there are") {
  CHECK(place_of("/job:ps/task:0").status().message() ==
        str_cat("target '/job:ps/task:0' is no device on which the function can be called; there "
                "are ",
                kOwn, ", ", kOther));
  CHECK(place_of("/job:worker", "/gpu:0").status().code() == Code::invalid_argument);
  CHECK(place_of("nowhere at all").status().message().starts_with("target: "));
  CHECK(place_of(Tensor::of<std::string>({2}, {"/cpu:0", "/cpu:1"})).status().message() ==
        "target must be one device's name, and has the shape [2]");
}

// Functions of int32 that add how many devices they were made on before; one device more is none.
struct Adding final : FunctionSpace {
  struct Function final : GraphFunction {
    explicit Function(int32_t added) : adds(added) {}
    const std::vector<DType>& argument_types() const override { return types; }
    const std::vector<DType>& result_types() const override { return types; }
    void run(std::shared_ptr<FunctionRun> run) override {
      if (adds == kFails) return run->ended(invalid("no good"));
      run->results = {Tensor::scalar(run->arguments.at(0).item<int32_t>() + adds)};
      run->ended({});
    }
    static constexpr int32_t kFails = 2;
    const std::vector<DType> types = {DType::i32};
    const int32_t adds;
  };
  Result<std::shared_ptr<GraphFunction>> instantiate(const FunctionRef&) override {
    return internal("on which device?");
  }
  Result<std::shared_ptr<GraphFunction>> instantiate_on(const DeviceName& device,
                                                        const FunctionRef& function) override {
    asked.push_back(str_cat(function.name, " on ", device.to_string()));
    return std::shared_ptr<GraphFunction>(
        std::make_shared<Function>(static_cast<int32_t>(asked.size() - 1)));
  }
  Status check_stateless(const FunctionRef&) const override { return {}; }
  std::vector<std::string> asked;
};

struct CallBench {
  CallBench() { bench.set_functions(space); }
  Result<int32_t> call(const std::string& target) {
    MR_ASSIGN(const auto outputs,
              bench.run("_RemoteCall", {Tensor::scalar(target), Tensor::scalar(40)},
                        {.attrs = {{"f", FunctionRef{"adds", {}}},
                                   {"Tin", std::vector<DType>{DType::i32}},
                                   {"Tout", std::vector<DType>{DType::i32}}}}));
    return outputs[0].tensor.item<int32_t>();
  }
  Bench bench{flow_ops()};
  std::shared_ptr<Adding> space = std::make_shared<Adding>();
};

TEST_CASE("a function is called on the device that is named, completed by the node's own") {
  CallBench made;
  CHECK(made.call(kOther).value() == 40);
  CHECK(made.call("/cpu:1").value() == 41);
  CHECK(made.space->asked ==
        std::vector<std::string>{str_cat("adds on ", kOther),
                                 "adds on /job:localhost/replica:0/task:0/device:CPU:1"});
  CHECK(made.call("").status().message() == "no good");
  CHECK(made.call("what is this").status().message().starts_with("target: "));
  CHECK(made.space->asked.size() == 3);
}

TEST_CASE("a call of a function that nobody brought is refused") {
  Bench bench(flow_ops());
  const auto outputs =
      bench.run("_RemoteCall", {Tensor::scalar(std::string(kOwn)), Tensor::scalar(1)},
                {.attrs = {{"f", FunctionRef{"adds", {}}},
                           {"Tin", std::vector<DType>{DType::i32}},
                           {"Tout", std::vector<DType>{DType::i32}}}});
  CHECK(outputs.status().message() == "Function adds is not defined");
}

}  // namespace
}  // namespace millrace

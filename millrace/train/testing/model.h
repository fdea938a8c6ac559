// A model in a session of its own, for tests: nodes are added, and values asked for, in turn.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "millrace/session/session.h"
#include "millrace/train/variable_scope.h"

namespace millrace::testing {

struct Model {
  static std::shared_ptr<Runtime> runtime() {
    static const std::shared_ptr<Runtime> kRuntime = Runtime::create({.threads = 2});
    return kRuntime;
  }

  GraphBuilder graph{runtime()->ops()};
  VariableScope root{graph.root()};
  std::unique_ptr<Session> session = Session::create("", {}, runtime()).value();

  std::string status() const { return graph.status().to_string(); }
  Output placeholder(DType dtype, std::initializer_list<int64_t> dims) const {
    return Output(
        graph.root().add("Placeholder", {}, {{"dtype", dtype}, {"shape", PartialShape(dims)}}), 0);
  }
  void initialize() { perform(global_variables_initializer(root)); }
  void perform(const Operation& operation, Session::Feeds feeds = {}) {
    REQUIRE_MESSAGE(graph.status().ok(), status());
    REQUIRE(session->extend(graph).ok());
    const auto done = session->run(std::move(feeds), {}, {.targets = {operation.name()}});
    REQUIRE_MESSAGE(done.ok(), done.status().to_string());
  }
  Result<Tensor> try_run(const Output& fetch, Session::Feeds feeds = {}) {
    MR_TRY(session->extend(graph));
    MR_ASSIGN(auto values, session->run(std::move(feeds), {fetch.name()}));
    return values.front();
  }
  Tensor run(const Output& fetch, Session::Feeds feeds = {}) {
    const auto value = try_run(fetch, std::move(feeds));
    REQUIRE_MESSAGE(value.ok(), value.status().to_string());
    return *value;
  }
  std::vector<float> floats(const Output& fetch, Session::Feeds feeds = {}) {
    const Tensor value = run(fetch, std::move(feeds));
    return {value.flat<float>().begin(), value.flat<float>().end()};
  }
};

// Elements equal to 6 digits.
inline void check_near(const std::vector<float>& values, const std::vector<double>& expected) {
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(values[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

}  // namespace millrace::testing

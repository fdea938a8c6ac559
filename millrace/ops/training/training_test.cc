// What optimizers make of variables, in numbers worked out by hand, for both kinds of variables and
// by rows; and what they refuse.
#include <cmath>
#include <complex>
#include <cstring>
#include <thread>

#include <doctest/doctest.h>

#include "millrace/ops/state/families.h"
#include "millrace/ops/testing/op_bench.h"
#include "millrace/ops/training/families.h"

namespace millrace {
namespace {

Tensor floats(std::initializer_list<float> values) { return Tensor::vector<float>(values); }
Tensor scalar(float value) { return Tensor::scalar(value); }

// A number in any type that variables are trained in.
Tensor as(DType dtype, const Tensor& values) {
  Tensor made = Tensor::allocate(dtype, values.shape()).value();
  const auto from = values.flat<float>();
  for (size_t i = 0; i < from.size(); ++i) {
    switch (dtype) {
      case DType::f16:
        made.mutable_flat<Half>()[i] = static_cast<Half>(from[i]);
        break;
      case DType::bf16:
        made.mutable_flat<BFloat16>()[i] = static_cast<BFloat16>(from[i]);
        break;
      case DType::f32:
        made.mutable_flat<float>()[i] = from[i];
        break;
      case DType::f64:
        made.mutable_flat<double>()[i] = from[i];
        break;
      case DType::c64:
        made.mutable_flat<std::complex<float>>()[i] = from[i];
        break;
      default:
        made.mutable_flat<std::complex<double>>()[i] = from[i];
    }
  }
  return made;
}

float number(const Tensor& of, size_t i) {
  switch (of.dtype()) {
    case DType::f16:
      return static_cast<float>(of.flat<Half>()[i]);
    case DType::bf16:
      return static_cast<float>(of.flat<BFloat16>()[i]);
    case DType::f32:
      return of.flat<float>()[i];
    case DType::f64:
      return static_cast<float>(of.flat<double>()[i]);
    case DType::c64:
      return of.flat<std::complex<float>>()[i].real();
    default:
      return static_cast<float>(of.flat<std::complex<double>>()[i].real());
  }
}

constexpr DType kReal[] = {DType::f32, DType::f64, DType::f16, DType::bf16};
constexpr DType kAll[] = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::c64, DType::c128};

struct Trained {
  OpRegistry ops;
  std::unique_ptr<Bench> bench;
  int made = 0;

  Trained() {
    REQUIRE(register_state(ops).ok());
    const Status status = register_training(ops);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    bench = std::make_unique<Bench>(ops);
  }

  Result<std::vector<Value>> run(std::string_view op, std::vector<Value> inputs, Attrs attrs = {}) {
    return bench->run(op, std::move(inputs), {.attrs = std::move(attrs)});
  }
  Value unset(DType dtype, const Shape& shape) {
    const std::string name = str_cat("v", made++);
    auto variable =
        bench->run("VariableV2", {},
                   {.name = name, .attrs = {{"dtype", dtype}, {"shape", PartialShape(shape)}}});
    REQUIRE_MESSAGE(variable.ok(), variable.status().to_string());
    return (*variable)[0];
  }
  Value reference(const Tensor& value) {
    Value variable = unset(value.dtype(), value.shape());
    const Status status = run("Assign", {variable, value}, {{"T", value.dtype()}}).status();
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    return variable;
  }
  Value resource(const Tensor& value) {
    const std::string name = str_cat("r", made++);
    auto handle = run(
        "VarHandleOp", {},
        {{"dtype", value.dtype()}, {"shape", PartialShape(value.shape())}, {"shared_name", name}});
    REQUIRE(handle.ok());
    REQUIRE(run("AssignVariableOp", {(*handle)[0], value}, {{"dtype", value.dtype()}}).ok());
    return (*handle)[0];
  }
  Tensor read(const Value& variable, DType dtype) {
    if (variable.ref != nullptr) {
      MutexLock lock(*variable.ref->mutex);
      return *variable.ref->tensor;
    }
    return (*run("ReadVariableOp", {variable}, {{"dtype", dtype}}))[0].tensor;
  }

  // The op in both its forms gives `expected`, variable after variable, from `variables`; `inputs`
  // are what follows, scalars and gradient.
  void check(const std::string& name, std::vector<Tensor> variables, std::vector<Tensor> inputs,
             std::vector<Tensor> expected, std::span<const DType> dtypes, Attrs attrs = {}) {
    for (const DType dtype : dtypes) {
      for (const char* form : {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"}) {
        const std::string op = form + name;
        if (ops.find(op) == nullptr) continue;
        CAPTURE(op);
        CAPTURE(dtype_name(dtype));
        const bool is_ref = !op.starts_with("Resource");
        const bool has_rows = op.find("Sparse") != std::string::npos;
        std::vector<Value> given;
        for (const Tensor& variable : variables) {
          const Tensor value = as(dtype, variable);
          given.push_back(is_ref ? reference(value) : resource(value));
        }
        const std::vector<Value> kept = given;
        for (const Tensor& input : inputs) {
          given.emplace_back(input.dtype() == DType::i64 ? input : as(dtype, input));
          // Only gradients are no scalars. Their rows are all there are, last to first.
          if (!has_rows || input.shape().is_scalar()) continue;
          given.back() = reversed(given.back().tensor);
          std::vector<int32_t> places;
          for (int64_t i = input.num_elements(); i-- > 0;) places.push_back(static_cast<int>(i));
          given.emplace_back(Tensor::vector<int32_t>(places));
        }
        Attrs all = attrs;
        all.set("T", dtype);
        if (has_rows) all.set("Tindices", DType::i32);
        const Status status = run(op, given, all).status();
        REQUIRE_MESSAGE(status.ok(), status.to_string());
        check_values(kept, expected, dtype);
      }
    }
  }

 private:
  static Tensor reversed(const Tensor& values) {
    Tensor made = values.clone().value();
    const size_t size = dtype_size(values.dtype());
    const auto n = static_cast<size_t>(values.num_elements());
    for (size_t i = 0; i < n; ++i) {
      std::memcpy(static_cast<char*>(made.mutable_data()) + i * size,
                  static_cast<const char*>(values.data()) + (n - 1 - i) * size, size);
    }
    return made;
  }
  void check_values(const std::vector<Value>& variables, const std::vector<Tensor>& expected,
                    DType dtype) {
    const float tolerance = dtype == DType::bf16 ? 2e-2f : dtype == DType::f16 ? 3e-3f : 1e-5f;
    for (size_t v = 0; v < variables.size(); ++v) {
      const Tensor value = read(variables[v], dtype);
      CAPTURE(v);
      for (size_t i = 0; i < static_cast<size_t>(value.num_elements()); ++i) {
        const float wanted = expected[v].flat<float>()[i];
        CHECK_MESSAGE(std::abs(number(value, i) - wanted) <= tolerance * (1 + std::abs(wanted)),
                      number(value, i), " instead of ", wanted);
      }
    }
  }
};

TEST_CASE("a descent goes against the gradient") {
  Trained f;
  f.check("GradientDescent", {floats({1, 2})}, {scalar(0.5f), floats({2, -4})}, {floats({0, 4})},
          kAll);
  // 3 - 0.5 * 2 = 2, drawn by 0.5 * 1 to 1.5, and over 1 + 0.5 * 2; 0.25 is drawn to 0.
  f.check("ProximalGradientDescent", {floats({3, 0.25f})},
          {scalar(0.5f), scalar(1), scalar(2), floats({2, 0})}, {floats({0.75f, 0})}, kReal);
  f.check("ProximalGradientDescent", {floats({3, -2})},
          {scalar(0.5f), scalar(0), scalar(2), floats({2, 0})}, {floats({1, -1})}, kReal);
}

TEST_CASE("momentum keeps going") {
  Trained f;
  const std::vector<Tensor> inputs = {scalar(0.5f), floats({2, -4}), scalar(0.25f)};
  // accum = 4 * 0.25 + 2 = 3 and -4.
  f.check("Momentum", {floats({1, 2}), floats({4, 0})}, inputs,
          {floats({-0.5f, 4}), floats({3, -4})}, kAll);
  // 1 - (2 * 0.5 + 3 * 0.25 * 0.5) and 2 - (-2 - 0.5)
  f.check("Momentum", {floats({1, 2}), floats({4, 0})}, inputs,
          {floats({-0.375f, 4.5f}), floats({3, -4})}, kAll, {{"use_nesterov", true}});
  // accum = 4 * 0.25 - 2 * 0.5 = 0 and 2.
  f.check("KerasMomentum", {floats({1, 2}), floats({4, 0})}, inputs,
          {floats({1, 4}), floats({0, 2})}, kAll);
  f.check("KerasMomentum", {floats({1, 2}), floats({4, 0})}, inputs,
          {floats({0, 4.5f}), floats({0, 2})}, kAll, {{"use_nesterov", true}});
}

TEST_CASE("agreement of the gradient's sign with the mean's makes steps longer") {
  Trained f;
  // m = 0.5 * m + 0.5 * grad = 2 and -1; the signs agree in the first only.
  const std::vector<Tensor> variables = {floats({1, 1}), floats({2, -4})};
  f.check("AddSign", variables,
          {scalar(0.5f), scalar(1), scalar(0.5f), scalar(0.5f), floats({2, 2})},
          {floats({-0.5f, 0.5f}), floats({2, -1})}, kReal);
  const float e = std::exp(0.5f);
  f.check("PowerSign", variables,
          {scalar(0.5f), scalar(1), scalar(0.5f), scalar(0.5f), floats({2, 2})},
          {floats({1 - e, 1 - 1 / e}), floats({2, -1})}, kReal);
}

TEST_CASE("sums of squares make the rate of each element") {
  Trained f;
  const std::vector<Tensor> variables = {floats({1, 2}), floats({5, 12})};
  f.check("Adagrad", variables, {scalar(0.75f), floats({2, -2})},
          {floats({0.5f, 2.375f}), floats({9, 16})}, kAll);
  f.check("Adagrad", {floats({1, 2}), floats({9, 16})}, {scalar(0.75f), floats({2, -2})},
          {floats({0.5f, 2.375f}), floats({9, 16})}, kAll, {{"update_slots", false}});
  f.check("AdagradV2", variables, {scalar(1), scalar(1), floats({2, -2})},
          {floats({0.5f, 2.4f}), floats({9, 16})}, kAll);
  // r = 0.75 / 3 = 0.25: p = 1 - 0.5 = 0.5, drawn to 0.25, over 1.5. The other: 0.1875, p = 2.375.
  f.check("ProximalAdagrad", variables, {scalar(0.75f), scalar(1), scalar(2), floats({2, -2})},
          {floats({0.25f / 1.5f, 2.1875f / 1.375f}), floats({9, 16})}, kReal);
  // Sums 4 and -1, of squares 9 and 16; l1 * 2 = 2 leaves 2 and 0; below 0.5 * 2 * 0.5 + 3.
  f.check("AdagradDA", {floats({1, 2}), floats({2, 1}), floats({5, 12})},
          {floats({2, -2}), scalar(0.5f), scalar(1), scalar(0.5f), Tensor::scalar<int64_t>(2)},
          {floats({-1 / 3.5f, 0}), floats({4, -1}), floats({9, 16})}, kReal);
}

TEST_CASE("the regularized leader is followed, and l1 makes zeros") {
  Trained f;
  // Sums 5 + 4 = 9, roots 3 and sqrt(5); linear = 1 + 2 - (3 - sqrt(5)) / 0.5 * 1.
  const float linear = 3 - 2 * (3 - std::sqrt(5.0f));
  const std::vector<Tensor> variables = {floats({1, 0}), floats({5, 5}), floats({1, -2})};
  f.check("Ftrl", variables,
          {floats({2, 2}), scalar(0.5f), scalar(0.25f), scalar(1), scalar(-0.5f)},
          {floats({(0.25f - linear) / 8, 0}), floats({9, 9}), floats({linear, 0})}, kReal);
  // Linear parts multiplied with the rate: 1 + 2 * 0.5 - (3 - sqrt(5)).
  const float scaled = 2 - (3 - std::sqrt(5.0f));
  f.check("Ftrl", variables,
          {floats({2, 4}), scalar(0.5f), scalar(0.25f), scalar(1), scalar(-0.5f)},
          {floats({(0.125f - scaled) / 4, 0}), floats({9, 21}), floats({scaled, 0})}, kReal,
          {{"multiply_linear_by_lr", true}});
  // With 2 * 0.5 * var more in linear, and another power: 1 / 9 and 1 / 5.
  const float other = 1 + 2 + 1 - (9 - 5) / 0.5f;
  f.check("FtrlV2", variables,
          {floats({2, 2}), scalar(0.5f), scalar(0.25f), scalar(1), scalar(0.5f), scalar(-1)},
          {floats({(-0.25f - other) / 20, 0}), floats({9, 9}), floats({other, 0})}, kReal);
}

TEST_CASE("means of squares make the rate of each element") {
  Trained f;
  // ms = 12 + (4 - 12) / 2 = 8, and sqrt(8 + 1) = 3; mom = 0.5 * 2 + 2 * 1.5 / 3 = 2.
  f.check("RMSProp", {floats({1, 1}), floats({12, 12}), floats({2, 0})},
          {scalar(1.5f), scalar(0.5f), scalar(0.5f), scalar(1), floats({2, -2})},
          {floats({-1, 2}), floats({8, 8}), floats({2, -1})}, kAll);
  // mg = 0 + (2 - 0) / 2 = 1: sqrt(8 - 1 + 2) = 3.
  f.check("CenteredRMSProp", {floats({1, 1}), floats({0, 0}), floats({12, 12}), floats({2, 0})},
          {scalar(1.5f), scalar(0.5f), scalar(0.5f), scalar(2), floats({2, -2})},
          {floats({-1, 2}), floats({1, -1}), floats({8, 8}), floats({2, -1})}, kAll);
  // accum = 8; u = sqrt(3 + 1) / sqrt(8 + 1) * 2 = 4 / 3.
  f.check("Adadelta", {floats({1, 1}), floats({12, 12}), floats({3, 3})},
          {scalar(0.5f), scalar(0.5f), scalar(1), floats({2, -2})},
          {floats({1 - 2 / 3.0f, 1 + 2 / 3.0f}), floats({8, 8}),
           floats({1.5f + 8 / 9.0f, 1.5f + 8 / 9.0f})},
          kAll);
}

TEST_CASE("Adam and its kin take first and second moments, corrected for their beginning") {
  Trained f;
  // Rate 1 * sqrt(1 - 0.75) / (1 - 0.5) = 1. m = 0 + 0.5 * 2 = 1; v = 5 + (4 - 5) * 0.25.
  const std::vector<Tensor> inputs = {scalar(0.5f),  scalar(0.75f), scalar(1),      scalar(0.5f),
                                      scalar(0.75f), scalar(1),     floats({2, -2})};
  const float below = std::sqrt(4.75f) + 1;
  f.check("Adam", {floats({1, 1}), floats({0, 0}), floats({5, 5})}, inputs,
          {floats({1 - 1 / below, 1 + 1 / below}), floats({1, -1}), floats({4.75f, 4.75f})}, kAll);
  // 2 * 0.5 + 0.5 * 1 instead of 1.
  f.check("Adam", {floats({1, 1}), floats({0, 0}), floats({5, 5})}, inputs,
          {floats({1 - 1.5f / below, 1 + 1.5f / below}), floats({1, -1}), floats({4.75f, 4.75f})},
          kAll, {{"use_nesterov", true}});
  f.check("AdamWithAmsgrad", {floats({1, 1}), floats({0, 0}), floats({5, 5}), floats({9, 0})},
          inputs,
          {floats({1 - 1 / 4.0f, 1 + 1 / below}), floats({1, -1}), floats({4.75f, 4.75f}),
           floats({9, 4.75f})},
          kReal);
  // Rate 1 / (1 - 0.5) = 2; v = max(0.75 * 4, 2) = 3 and 2.
  f.check("AdaMax", {floats({1, 1}), floats({0, 0}), floats({4, 0})},
          {scalar(0.5f), scalar(1), scalar(0.5f), scalar(0.75f), scalar(1), floats({2, -2})},
          {floats({0.5f, 1 + 2 / 3.0f}), floats({1, -1}), floats({3, 2})}, kReal);
}

TEST_CASE("rows that are not named stay, and one that is named twice is updated twice") {
  Trained f;
  const Value var = f.resource(Tensor::of<float>({3, 2}, {1, 1, 2, 2, 3, 3}));
  const Value accum = f.resource(Tensor::of<float>({3, 2}, {0, 0, 0, 0, 0, 0}));
  const Tensor gradient = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  REQUIRE(f.run("ResourceSparseApplyMomentum",
                {var, accum, scalar(1), gradient, Tensor::vector<int64_t>({2, 0, 2}), scalar(0.5f)},
                {{"T", DType::f32}, {"Tindices", DType::i64}})
              .ok());
  CHECK(f.read(accum, DType::f32) == Tensor::of<float>({3, 2}, {3, 4, 0, 0, 5.5f, 7}));
  CHECK(f.read(var, DType::f32) == Tensor::of<float>({3, 2}, {-2, -3, 2, 2, -3.5f, -6}));
}

TEST_CASE("an update is done in place, unless somebody has read the variable") {
  Trained f;
  const Value v = f.reference(floats({1, 2}));
  const Attrs attrs{{"T", DType::f32}};
  const void* before = f.read(v, DType::f32).data();
  REQUIRE(f.run("ApplyGradientDescent", {v, scalar(1), floats({1, 1})}, attrs).ok());
  CHECK(f.read(v, DType::f32).data() == before);
  const Tensor read = f.read(v, DType::f32);
  // Also when what was read is the gradient.
  const auto out = f.run("ApplyGradientDescent", {v, scalar(2), read}, attrs);
  REQUIRE(out.ok());
  CHECK((*out)[0].ref->tensor == v.ref->tensor);
  CHECK(read == floats({0, 1}));
  CHECK(f.read(v, DType::f32) == floats({0, -1}));
}

TEST_CASE("what can't be applied is refused in TensorFlow's words, and changes nothing") {
  Trained f;
  const Value var = f.reference(floats({1, 2}));
  const Value accum = f.reference(floats({3, 4}));
  const Value longer = f.reference(floats({3, 4, 5}));
  const Value unset = f.unset(DType::f32, {2});
  const auto momentum = [&](const Value& v, const Value& a, Tensor rate, Tensor gradient) {
    return f
        .run("ApplyMomentum", {v, a, std::move(rate), std::move(gradient), scalar(0)},
             {{"T", DType::f32}})
        .status();
  };
  CHECK(momentum(var, accum, floats({1, 1}), floats({1, 1})) == invalid("lr is not a scalar: [2]"));
  CHECK(momentum(var, accum, scalar(1), floats({1, 1, 1})) ==
        invalid("var and grad do not have the same shape[2] [3]"));
  CHECK(momentum(var, longer, scalar(1), floats({1, 1})) ==
        invalid("var and accum do not have the same shape[2] [3]"));
  CHECK(momentum(unset, accum, scalar(1), floats({1, 1})) ==
        failed_precondition("Attempting to use uninitialized variables: v3"));
  const auto rows = [&](Tensor gradient, Tensor indices) {
    return f
        .run("SparseApplyAdagrad", {var, accum, scalar(1), std::move(gradient), std::move(indices)},
             {{"T", DType::f32}, {"Tindices", DType::i32}})
        .status();
  };
  CHECK(rows(floats({1, 1}), Tensor::vector<int32_t>({0, 2})).message() ==
        "Index 2 at offset 1 in indices is out of range [0, 2)");
  CHECK(rows(floats({1, 1}), Tensor::vector<int32_t>({0, -1})).code() == Code::invalid_argument);
  CHECK(rows(floats({1, 1}), Tensor::vector<int32_t>({0})).message() ==
        "grad must be the same size as indices in the first dimension.");
  CHECK(rows(floats({1, 1}), Tensor::of<int32_t>({1, 2}, {0, 1})).message() ==
        "indices must be one-dimensional");
  CHECK(rows(Tensor::of<float>({1, 2}, {1, 1}), Tensor::vector<int32_t>({0})).code() ==
        Code::invalid_argument);
  const auto proximal = [&](float rate, float l1) {
    return f
        .run("ApplyProximalAdagrad",
             {var, accum, scalar(rate), scalar(l1), scalar(0), floats({1, 1})}, {{"T", DType::f32}})
        .status();
  };
  CHECK(proximal(0, 1) == invalid("lr is not a positive scalar: 0"));
  CHECK(proximal(1, -1) == invalid("l1 is not a non-negative scalar: -1"));
  CHECK(f.read(var, DType::f32) == floats({1, 2}));
  CHECK(f.read(accum, DType::f32) == floats({3, 4}));

  const auto nowhere =
      f.run("VarHandleOp", {},
            {{"dtype", DType::f32}, {"shape", PartialShape{2}}, {"shared_name", "nowhere"}});
  REQUIRE(nowhere.ok());
  CHECK(f.run("ResourceApplyGradientDescent", {(*nowhere)[0], scalar(1), floats({1, 1})},
              {{"T", DType::f32}})
            .status() == internal("Resource localhost/nowhere/Variable does not exist."));
  CHECK(f.run("ResourceApplyGradientDescent",
              {f.resource(as(DType::f64, floats({1, 2}))), scalar(1), floats({1, 1})},
              {{"T", DType::f32}})
            .status()
            .code() == Code::invalid_argument);
}

TEST_CASE("updates that name the same variables in other orders don't wait for each other") {
  Trained f;
  const Value a = f.reference(floats({0, 0})), b = f.reference(floats({0, 0}));
  constexpr int kUpdates = 500;
  const auto update = [&](const Value& var, const Value& accum) {
    for (int i = 0; i < kUpdates; ++i) {
      const Status status =
          f.run("ApplyMomentum", {var, accum, scalar(0), floats({1, 1}), scalar(1)},
                {{"T", DType::f32}})
              .status();
      if (!status.ok()) std::abort();
    }
  };
  std::thread other([&] { update(b, a); });
  update(a, b);
  other.join();
  CHECK(f.read(a, DType::f32) == floats({kUpdates, kUpdates}));
  CHECK(f.read(b, DType::f32) == floats({kUpdates, kUpdates}));
  // A variable may be all of them.
  REQUIRE(f.run("ApplyMomentum", {a, a, scalar(0), floats({1, 1}), scalar(1)}, {{"T", DType::f32}})
              .ok());
}

TEST_CASE("elements that are updated several at a time become what each becomes alone") {
  const struct {
    const char* name;
    int variables;
    std::vector<Tensor> scalars;  // before the gradient
  } rules[] = {
      {"Adam",
       3,
       {scalar(0.9f), scalar(0.99f), scalar(0.1f), scalar(0.8f), scalar(0.9f), scalar(1e-3f)}},
      {"RMSProp", 3, {scalar(0.1f), scalar(0.9f), scalar(0.5f), scalar(1e-3f)}},
      {"CenteredRMSProp", 4, {scalar(0.1f), scalar(0.9f), scalar(0.5f), scalar(1.0f)}},
      {"Adadelta", 3, {scalar(0.1f), scalar(0.9f), scalar(1e-3f)}},
      {"Adagrad", 2, {scalar(0.1f)}},
  };
  constexpr int kLength = 7;
  for (const auto& rule : rules) {
    CAPTURE(rule.name);
    Trained f;
    const auto update = [&](const std::vector<Tensor>& variables, const Tensor& gradient) {
      std::vector<Value> inputs;
      for (const Tensor& variable : variables) inputs.push_back(f.reference(variable));
      const std::vector<Value> kept = inputs;
      for (const Tensor& each : rule.scalars) inputs.push_back(each);
      inputs.push_back(gradient);
      const Status status = f.run(str_cat("Apply", rule.name), inputs).status();
      REQUIRE_MESSAGE(status.ok(), status.to_string());
      std::vector<Tensor> made;
      for (const Value& variable : kept) made.push_back(f.read(variable, DType::f32));
      return made;
    };
    const auto element = [](const Tensor& of, size_t i) { return floats({of.flat<float>()[i]}); };
    std::vector<Tensor> whole;
    for (int v = 0; v < rule.variables; ++v) {
      Tensor values = *Tensor::allocate(DType::f32, {kLength});
      for (int i = 0; i < kLength; ++i)
        values.mutable_flat<float>()[static_cast<size_t>(i)] =
            0.3f + 0.17f * static_cast<float>(i + v);
      whole.push_back(values);
    }
    Tensor gradient = *Tensor::allocate(DType::f32, {kLength});
    for (int i = 0; i < kLength; ++i)
      gradient.mutable_flat<float>()[static_cast<size_t>(i)] = 0.21f * static_cast<float>(i - 3);
    const std::vector<Tensor> together = update(whole, gradient);
    for (size_t i = 0; i < kLength; ++i) {
      std::vector<Tensor> alone;
      for (const Tensor& values : whole) alone.push_back(element(values, i));
      alone = update(alone, element(gradient, i));
      for (size_t v = 0; v < alone.size(); ++v) CHECK(alone[v] == element(together[v], i));
    }
  }
}

}  // namespace
}  // namespace millrace

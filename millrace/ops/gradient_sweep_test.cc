// The sweep of gradients: what each op says its gradient is, held against finite differences at the
// values of its examples, in float64.
#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"
#include "millrace/op/testing/example.h"
#include "millrace/ops/all.h"
#include "millrace/ops/testing/eager_gradient.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& swept_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    const Status status = register_all_ops(*made);
    REQUIRE_MESSAGE(status.ok(), status.to_string());
    return made;
  }();
  return *kOps;
}

// The attributes of an example with float64 wherever the op has a choice of types that allows it
// and inputs of any kind decide; none if the example says another type.
std::optional<Attrs> in_doubles(const OpDef& op, const Example& example) {
  Attrs attrs = example.attrs;
  for (const AttrDef& attr : op.attrs) {
    const AttrValue* said = attrs.find(attr.name);
    if (attr.kind == "list(type)") {
      if (said == nullptr ||
          std::ranges::find(op.inputs, attr.name, &ArgDef::type_list_attr) == op.inputs.end())
        continue;
      attrs.set(attr.name, std::vector<DType>(said->as_list_of<DType>()->size(), DType::f64));
    }
    if (attr.kind != "type") continue;
    const auto& types = attr.allowed_types;
    // A number of two parts is not moved a little here.
    if (!types.empty() && is_complex(types[0])) return std::nullopt;
    if (types.empty() || std::ranges::find(types, DType::f64) != types.end()) {
      const DType type = said != nullptr ? *said->as_type() : DType::f64;
      if (type != DType::f64 && !is_floating(type)) return std::nullopt;
      attrs.set(attr.name, DType::f64);
    } else if (said == nullptr) {
      const bool whole = std::ranges::find(types, DType::i32) != types.end();
      const DType some = whole ? DType::i32 : types.front();
      attrs.set(attr.name, attr.default_value ? *attr.default_value->as_type() : some);
    }
  }
  return attrs;
}

struct Point {
  const OpDef& op;
  Attrs attrs;
  std::vector<Tensor> inputs;

  std::vector<Tensor> outputs() const {
    auto made = run_op(swept_ops(), op.name, inputs, attrs);
    REQUIRE_MESSAGE(made.ok(), made.status().to_string());
    return *made;
  }
  // The sum of the elements of all outputs that are no places or marks, each weighed by another
  // number.
  double weighed() const {
    double total = 0;
    for (const Tensor& output : outputs()) {
      if (output.dtype() != DType::f64) continue;
      double weight = 1;
      for (const double element : output.flat<double>()) total += element * (weight += 0.25);
    }
    return total;
  }
  static Tensor weights_of(const Tensor& output) {
    Tensor weights = *Tensor::zeros(DType::f64, output.shape());
    double weight = 1;
    for (double& element : weights.mutable_flat<double>()) element = weight += 0.25;
    return weights;
  }
};

bool differ(double a, double b) {
  return !(std::abs(a - b) <= 1e-2 * (1 + std::abs(a) + std::abs(b)));
}

int check_input(Point point, size_t slot, const Tensor& gradient) {
  CAPTURE(slot);
  REQUIRE(gradient.dtype() == DType::f64);
  CHECK(gradient.shape().to_string() == point.inputs[slot].shape().to_string());
  const Tensor original = *point.inputs[slot].clone();
  const double here = point.weighed();
  int number = 0;
  for (size_t i = 0; i < original.flat<double>().size(); ++i) {
    constexpr double kStep = 1e-5;
    const auto moved = [&](double by) {
      point.inputs[slot] = *original.clone();
      point.inputs[slot].mutable_flat<double>()[i] += by;
      return point.weighed();
    };
    const double below = moved(-kStep), above = moved(kStep);
    const double expected = (above - below) / (2 * kStep);
    // Where the op bends, the halves of the difference disagree; where it jumps, those of two
    // steps.
    if (differ((here - below) / kStep, (above - here) / kStep)) continue;
    if (differ(expected, (moved(2 * kStep) - moved(-2 * kStep)) / (4 * kStep))) continue;
    const double said = gradient.flat<double>()[i];
    CAPTURE(i);
    CAPTURE(expected);
    CAPTURE(said);
    CHECK(std::abs(said - expected) <= 1e-4 * (1 + std::abs(expected)));
    ++number;
  }
  return number;
}

// How many elements were compared.
int check_gradient(const OpDef& op, const Example& example) {
  const std::optional<Attrs> wanted = in_doubles(op, example);
  if (!wanted) return 0;
  const std::vector<DType> untyped(example.inputs.size(), DType::f64);
  const auto attrs = complete_attrs(op, untyped, *wanted);
  REQUIRE_MESSAGE(attrs.ok(), attrs.status().to_string());
  const auto types = resolve_args(op, op.inputs, *attrs);
  REQUIRE(types.ok());
  Point point{op, *attrs, {}};
  for (size_t slot = 0; slot < example.inputs.size(); ++slot) {
    const auto input = example.inputs[slot].as((*types)[slot].dtype);
    if (!input.ok()) return 0;  // texts
    point.inputs.push_back(*input);
  }
  const std::vector<Tensor> outputs = point.outputs();
  if (std::ranges::find(outputs, DType::f64, &Tensor::dtype) == outputs.end()) return 0;
  std::vector<Tensor> arriving;
  for (const Tensor& output : outputs)
    arriving.push_back(output.dtype() == DType::f64 ? Point::weights_of(output) : Tensor());
  int number = 0;
  for (const Told told : {Told::everything, Told::nothing}) {
    CAPTURE(static_cast<int>(told));
    const auto gradients =
        eager_gradient(swept_ops(), op.name, *attrs, point.inputs, outputs, arriving, told);
    const Code code = gradients.status().code();
    if (code == Code::unimplemented || code == Code::not_found) continue;
    REQUIRE_MESSAGE(gradients.ok(), gradients.status().to_string());
    for (size_t slot = 0; slot < gradients->size(); ++slot) {
      if ((*gradients)[slot] && point.inputs[slot].dtype() == DType::f64)
        number += check_input(point, slot, *(*gradients)[slot]);
    }
  }
  return number;
}

// Rounds, and has the gradient of what it stands for: differences show the stairs. A random gamma
// or truncated normal moves with its distribution, and not as the numbers do that it is drawn from.
// What arrives at a projected image is projected back, as TensorFlow has it, which is no more than
// near.
bool goes_straight_through(const OpDef& op) {
  return op.name.starts_with("QuantizeAndDequantize") || op.name.starts_with("FakeQuant") ||
         op.name.starts_with("StatelessRandomGamma") ||
         op.name == "StatelessParameterizedTruncatedNormal" ||
         op.name.starts_with("ImageProjectiveTransform");
}

// Its slopes are an output, too, and have none: ctc_test.cc compares the loss alone.
bool has_outputs_without_gradient(const OpDef& op) { return op.name == "CTCLoss"; }

TEST_CASE("the gradient of every op is that of finite differences at the values of its examples") {
  std::string unchecked;
  for (const OpDef* op : swept_ops().all()) {
    if (op->grad == nullptr || op->role != Role::ordinary || goes_straight_through(*op)) continue;
    if (has_outputs_without_gradient(*op)) continue;
    CAPTURE(op->name);
    int number = 0;
    for (const std::string& text : op->examples) {
      CAPTURE(text);
      const auto example = parse_example(*op, text);
      REQUIRE(example.ok());
      number += check_gradient(*op, *example);
    }
    if (number == 0) str_append(&unchecked, " ", op->name);
  }
  // PreventGradient has one to refuse it; references and handles are no values to move a little,
  // nor numbers of two parts, and chance is no function (tests/interop/op_cases.py has those two).
  // Arrays of tensors are compared in python/tests/test_loop_gradients.py; what is of float32 only,
  // as resized images and normalised batches, has tests of its own in Python or beside its op.
  // Variants are no numbers: what they hold is compared in ragged/ragged_test.cc, and for lists and
  // optionals in python/tests/test_list_gradients.py. What a script computes with has its own in
  // python/tests/test_eager_calls.py.
  CHECK(unchecked ==
        " Angle ApproxTopK Batch BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D"
        " BlockLSTM BlockLSTMV2 CTCLossV2 Complex ComplexAbs CompositeTensorVariantFromComponents"
        " CompositeTensorVariantToComponents Conj CropAndResize EagerPyFunc Eig FFT FFT2D FFT3D"
        " FusedBatchNorm FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3"
        " FusedBatchNormV2 FusedBatchNormV3 GRUBlockCell IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D"
        " Imag LRN LSTMBlockCell MatrixLogarithm MaxPool3D MaxPool3DGrad OptionalFromValue"
        " OptionalGetValue PreventGradient RFFT RFFT2D RFFT3D RaggedTensorFromVariant"
        " RaggedTensorToVariant RandomGamma ReadVariableOp Real RefIdentity ResizeBicubic"
        " ResizeBilinear ResourceGather ResourceGatherNd ScaleAndTranslate SparseMatMul "
        "TensorArrayConcatV3"
        " TensorArrayGatherV3 TensorArrayGradV3 TensorArrayReadV3 TensorArrayScatterV3"
        " TensorArraySplitV3 TensorArrayWriteV3 TensorListConcat TensorListConcatV2"
        " TensorListFromTensor TensorListGather TensorListGetItem TensorListPopBack"
        " TensorListPushBack TensorListResize TensorListScatter TensorListScatterIntoExistingList"
        " TensorListScatterV2 TensorListSetItem TensorListSplit TensorListStack Unbatch");
}

// The gradient by input 0 where `arriving` comes to output 0.
Tensor gradient_of(std::string_view op, const Tensor& input, const Tensor& arriving, Attrs given) {
  const OpDef* def = swept_ops().find(op);
  REQUIRE(def != nullptr);
  const DType types[] = {input.dtype()};
  const auto attrs = complete_attrs(*def, types, std::move(given));
  REQUIRE(attrs.ok());
  const auto outputs = run_op(swept_ops(), op, {input}, *attrs);
  REQUIRE_MESSAGE(outputs.ok(), outputs.status().to_string());
  std::vector<Tensor> arrives = {arriving};
  for (size_t slot = 1; slot < outputs->size(); ++slot)
    arrives.push_back(*Tensor::zeros(DType::f32, (*outputs)[slot].shape()));
  const auto made =
      eager_gradient(swept_ops(), op, *attrs, {input}, *outputs, arrives, Told::nothing);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  REQUIRE((*made)[0].has_value());
  return *(*made)[0];
}

TEST_CASE("what arrives at the top along an axis goes where its elements came from") {
  const Tensor input = Tensor::of<float>({3, 2}, {1, 2, 4, 3, 2, 5});
  const Tensor arriving = Tensor::of<float>({2, 2}, {10, 20, 30, 40});
  CHECK(gradient_of("ApproxTopK", input, arriving,
                    {{"k", int64_t{2}}, {"reduction_dimension", int64_t{0}}}) ==
        Tensor::of<float>({3, 2}, {0, 0, 10, 40, 30, 20}));
  CHECK(gradient_of("ApproxTopK", input, Tensor::of<float>({3, 1}, {10, 20, 30}),
                    {{"k", int64_t{1}}, {"is_max_k", false}}) ==
        Tensor::of<float>({3, 2}, {10, 0, 0, 20, 30, 0}));
  CHECK(gradient_of("ApproxTopK", Tensor::of<float>({0, 2}, {}), Tensor::of<float>({0, 2}, {}),
                    {{"k", int64_t{0}}, {"reduction_dimension", int64_t{-2}}})
            .shape() == Shape{0, 2});
}

// The gradients of all inputs where `arriving` comes to output 0.
std::vector<std::optional<Tensor>> gradients_of(std::string_view op,
                                                const std::vector<Tensor>& inputs,
                                                const std::vector<Tensor>& outputs,
                                                const Tensor& arriving, Attrs given) {
  std::vector<DType> types;
  for (const Tensor& input : inputs) types.push_back(input.dtype());
  const auto attrs = complete_attrs(*swept_ops().find(op), types, std::move(given));
  REQUIRE(attrs.ok());
  std::vector<Tensor> arrives = {arriving};
  for (size_t slot = 1; slot < outputs.size(); ++slot)
    arrives.push_back(*Tensor::zeros(outputs[slot].dtype(), outputs[slot].shape()));
  const auto made =
      eager_gradient(swept_ops(), op, *attrs, inputs, outputs, arrives, Told::nothing);
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return *made;
}

TEST_CASE("the gradient of a batch goes to who brought its rows, and comes from who took them") {
  const Tensor rows = Tensor::vector<float>({1, 2}), slope = Tensor::vector<float>({5, 6, 0});
  const Attrs attrs{{"num_batch_threads", 1},
                    {"max_batch_size", 3},
                    {"batch_timeout_micros", 0},
                    {"grad_timeout_micros", 0},
                    {"allowed_batch_sizes", std::vector<int64_t>{3}}};
  const auto batch = run_op(swept_ops(), "Batch", {rows}, attrs);
  REQUIRE_MESSAGE(batch.ok(), batch.status().to_string());
  CHECK((*batch)[0] == Tensor::vector<float>({1, 2, 1}));
  CHECK(gradients_of("Batch", {rows}, *batch, slope, attrs)[0] == Tensor::vector<float>({5, 6}));
  const Tensor back = Tensor::vector<float>({5, 6});
  CHECK(gradients_of("Unbatch", *batch, {rows}, back, {{"timeout_micros", 0}})[0] == slope);
}

TEST_CASE("the gradient of a composite is that of its parts") {
  const Tensor parts = Tensor::vector<float>({1, 2});
  const Attrs attrs{{"metadata", ""}, {"Tcomponents", std::vector<DType>{DType::f32}}};
  const auto whole = run_op(swept_ops(), "CompositeTensorVariantFromComponents", {parts}, attrs);
  REQUIRE_MESSAGE(whole.ok(), whole.status().to_string());
  CHECK(gradients_of("CompositeTensorVariantFromComponents", {parts}, *whole, (*whole)[0],
                     attrs)[0] == parts);
  CHECK(gradients_of("CompositeTensorVariantToComponents", *whole, {parts}, parts, attrs)[0] ==
        (*whole)[0]);
}

TEST_CASE("the gradient of a complex function goes by the conjugate of its slope, once") {
  using C = std::complex<double>;
  const auto near = [](const Tensor& made, C wanted) {
    return std::abs(made.flat<C>()[0] - wanted) < 1e-12;
  };
  const C x(0.25, 0.5), arriving(1, 2);
  const Tensor at = Tensor::vector<C>({x}), come = Tensor::vector<C>({arriving});
  const C tanh = std::tanh(x), sigmoid = 1.0 / (1.0 + std::exp(-x));
  CHECK(near(gradient_of("Tanh", at, come, {}), arriving * std::conj(1.0 - tanh * tanh)));
  CHECK(near(gradient_of("Sigmoid", at, come, {}),
             arriving * std::conj(sigmoid - sigmoid * sigmoid)));
  CHECK(near(gradient_of("Sqrt", at, come, {}), arriving * std::conj(0.5 / std::sqrt(x))));
  // TensorFlow's clients conjugate for the first two, and leave it to the others.
  const auto fused = [&](std::string_view op) { return (*run_op(swept_ops(), op, {at, come}))[0]; };
  CHECK(near(fused("TanhGrad"), arriving * (1.0 - x * x)));
  CHECK(near(fused("SigmoidGrad"), arriving * (x - x * x)));
  CHECK(near(fused("SqrtGrad"), arriving * 0.5 / std::conj(x)));
}

}  // namespace
}  // namespace millrace

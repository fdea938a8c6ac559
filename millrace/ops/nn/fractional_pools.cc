// Part of families.h: register_fractional_pools.
#include <cmath>
#include <optional>

#include "millrace/op/infer.h"
#include "millrace/ops/loops/loop_of.h"
#include "millrace/ops/nn/families.h"
#include "millrace/ops/nn/fractional_cuts.h"
#include "millrace/ops/nn/fractional_windows.h"
#include "millrace/ops/nn/gradients.h"

namespace millrace {
namespace {

using PoolLoop = Result<Tensor> (*)(const CutImages&, const Tensor& images, CancelProbe probe);

template <class T>
Result<Tensor> largest_of_windows(const CutImages& cut, const Tensor& images, CancelProbe probe) {
  MR_ASSIGN(const Tensor places, places_of_largest<T>(cut, images, probe));
  MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, places.shape()));
  const auto all = images.flat<T>();
  T* to = made.mutable_flat<T>().data();
  for (const int64_t at : places.flat<int64_t>()) *to++ = all[static_cast<size_t>(at)];
  return made;
}

template <class T>
Result<Tensor> means_of_windows(const CutImages& cut, const Tensor& images, CancelProbe probe) {
  MR_ASSIGN(const Shape shape, cut.pooled_shape());
  MR_ASSIGN(Tensor made, Tensor::zeros(dtype_of<T>, shape));
  const T* const all = images.flat<T>().data();
  T* const sums = made.mutable_flat<T>().data();
  MR_TRY(cut.each_pixel(probe, [&](int64_t window, int64_t pixel) {
    T* const sum = sums + window * cut.channels;
    const T* const from = all + pixel * cut.channels;
    for (int64_t c = 0; c < cut.channels; ++c) sum[c] = cpu::add(sum[c], from[c]);
  }));
  const int64_t windows = cut.batch * cut.rows.windows() * cut.columns.windows();
  for (int64_t window = 0; window < windows; ++window) {
    const T number = static_cast<T>(cut.pixels_of(window));
    for (int64_t c = 0; c < cut.channels; ++c) sums[window * cut.channels + c] /= number;
  }
  return made;
}

// --- FractionalMaxPool, FractionalAvgPool ---

struct Ratio {
  std::array<float, 4> by_axis;

  // In floats, as TensorFlow divides.
  int64_t pooled(int axis, int64_t length) const {
    const float parts = std::floor(static_cast<float>(length) / by_axis[static_cast<size_t>(axis)]);
    return std::min(static_cast<int64_t>(parts), length);
  }
  bool leaves_batch_and_channels() const { return by_axis[0] == 1 && by_axis[3] == 1; }
  Status check(int axis, int64_t length) const {
    const float ratio = by_axis[static_cast<size_t>(axis)];
    if (static_cast<float>(length) >= ratio) return {};
    return invalid("Pooling ratio is higher than input dimension size for dimension ", axis,
                   ". Input dim size: ", length, " pooling ratio: ", ratio);
  }
};

Result<Ratio> ratio_of(const AttrView& attrs) {
  const AttrValue* const value = attrs.find("pooling_ratio");
  const auto* const ratios = value == nullptr ? nullptr : value->as_list_of<float>();
  if (ratios == nullptr || ratios->size() != 4)
    return invalid("pooling_ratio field must specify 4 dimensions");
  for (const float ratio : *ratios) {
    if (!(ratio >= 1)) return invalid("pooling_ratio cannot be smaller than 1, got: ", ratio);
  }
  return Ratio{{(*ratios)[0], (*ratios)[1], (*ratios)[2], (*ratios)[3]}};
}

class FractionalPool final : public Kernel {
 public:
  struct Node {
    Ratio ratio;
    Cutting cutting;
    bool overlapping;
    std::optional<PhiloxBlocks> always;  // from where each run draws, if all draw the same
  };
  FractionalPool(Node node, std::unique_ptr<PhiloxStream> stream, PoolLoop pool)
      : node_(node), stream_(std::move(stream)), pool_(pool) {}

  Status run(KernelContext& context) override {
    const Tensor& images = context.input(0);
    const Shape& shape = images.shape();
    if (shape.rank() != 4)
      return invalid("tensor_in must be 4-dimensional, not of shape ", shape.to_string());
    for (int axis = 0; axis < 4; ++axis) MR_TRY(node_.ratio.check(axis, shape.dim(axis)));
    std::optional<PhiloxStream> same;
    if (node_.always) same.emplace(*node_.always);
    PhiloxStream& stream = same ? *same : *stream_;
    CutImages cut{.batch = shape.dim(0), .channels = shape.dim(3)};
    cut.rows = drawn(1, shape.dim(1), stream);
    cut.columns = drawn(2, shape.dim(2), stream);
    MR_TRY(context.set_output(0, pool_(cut, images, CancelProbe(context))));
    context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>(cut.rows.cuts)));
    context.set_output(2, Tensor::vector<int64_t>(std::span<const int64_t>(cut.columns.cuts)));
    return {};
  }

 private:
  CutAxis drawn(int axis, int64_t length, PhiloxStream& stream) const {
    return {length, drawn_cuts(length, node_.ratio.pooled(axis, length), node_.cutting, stream),
            node_.overlapping};
  }

  const Node node_;
  const std::unique_ptr<PhiloxStream> stream_;
  const PoolLoop pool_;
};

// Either of the two ops.
struct PoolKind {
  std::string_view word;  // in errors
  PoolLoop (*loop_for)(DType);
};

PoolLoop largest_for(DType dtype) {
  return cpu::pick<PoolLoop>(FractionalTypes(), dtype,
                             []<class T>() -> PoolLoop { return &largest_of_windows<T>; });
}
PoolLoop means_for(DType dtype) {
  return cpu::pick<PoolLoop>(FractionalTypes(), dtype,
                             []<class T>() -> PoolLoop { return &means_of_windows<T>; });
}
constexpr PoolKind kMax = {"max", &largest_for};
constexpr PoolKind kAverage = {"average", &means_for};

KernelFactory fractional_pool(PoolKind kind) {
  return [kind](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const Ratio ratio, ratio_of(spec.attrs));
    if (!ratio.leaves_batch_and_channels()) {
      return unimplemented("Fractional ", kind.word,
                           " pooling is not yet supported on the batch nor channel dimension.");
    }
    MR_ASSIGN(const bool regular, spec.attrs.boolean("pseudo_random"));
    MR_ASSIGN(const bool overlapping, spec.attrs.boolean("overlapping"));
    MR_ASSIGN(const bool deterministic, spec.attrs.boolean("deterministic"));
    MR_ASSIGN(const int64_t seed, spec.attrs.integer("seed"));
    MR_ASSIGN(const int64_t seed2, spec.attrs.integer("seed2"));
    if (!deterministic && (seed != 0 || seed2 != 0)) {
      return invalid("Both seed and seed2 should be 0 if deterministic is false, but they are ",
                     seed, " and ", seed2);
    }
    const PoolLoop pool = kind.loop_for(spec.inputs[0].dtype);
    if (pool == nullptr) return cpu::no_loop(spec, spec.inputs[0].dtype);
    MR_ASSIGN(std::unique_ptr<PhiloxStream> stream, PhiloxStream::create(spec.attrs, spec.random));
    std::optional<PhiloxBlocks> always;
    if (deterministic) always = stream->reserve(0);
    FractionalPool::Node node{ratio, regular ? Cutting::regular : Cutting::random, overlapping,
                              always};
    return std::unique_ptr<Kernel>(std::make_unique<FractionalPool>(node, std::move(stream), pool));
  };
}

// That only rows and columns are pooled is found where it is run, as in TensorFlow.
Status infer_fractional_pool(InferContext& context) {
  MR_ASSIGN(const Ratio ratio, ratio_of(context.attrs()));
  MR_ASSIGN(const PartialShape images, context.input_of_rank(0, 4));
  std::vector<int64_t> dims;
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t length = images.dim(axis);
    if (length != kUnknownDim && ratio.leaves_batch_and_channels())
      MR_TRY(ratio.check(axis, length));
    dims.push_back(length == kUnknownDim ? kUnknownDim : ratio.pooled(axis, length));
  }
  for (const int axis : {1, 2}) {
    const int64_t parts = dims[static_cast<size_t>(axis)];
    context.set_output(axis, PartialShape{parts == kUnknownDim ? kUnknownDim : parts + 1});
  }
  return context.set_output(0, PartialShape::create(dims));
}

std::string pool_signature() {
  return str_cat("value: T -> output: T, row_pooling_sequence: int64, col_pooling_sequence: int64",
                 " | T: {float, double, int32, int64}, pooling_ratio: list(float) >= 4, "
                 "pseudo_random: bool = false, "
                 "overlapping: bool = false, deterministic: bool = false, seed: int = 0, "
                 "seed2: int = 0");
}

// Where each window has as many elements, only one way to cut is left.
std::string even_example(std::string_view made) {
  return str_cat("[[[[1] [3]] [[3] [5]] [[5] [6]] [[7] [10]]]] -> ", made,
                 ", [0 2 4], [0 2] | pooling_ratio = {1.0, 2.0, 2.0, 1.0}");
}

}  // namespace

Status register_fractional_pools(OpRegistry& ops) {
  constexpr std::string_view kDoc =
      " of windows that cut rows and columns into pieces of k or k + 1 elements, so that there are "
      "as many as pooling_ratio says, which need not be whole; which are larger is drawn for each "
      "run, or once if deterministic. Also where rows and columns were cut.";
  MR_TRY(ops.add({
      .name = "FractionalMaxPool",
      .doc = str_cat("The largest elements", kDoc),
      .signature = pool_signature(),
      .infer = infer_fractional_pool,
      .cpu = fractional_pool(kMax),
      .grad = grad::fractional_max_pool,
      .foldable = false,
      .examples = {even_example("[[[[5]] [[10]]]]")},
  }));
  return ops.add({
      .name = "FractionalAvgPool",
      .doc = str_cat("The means", kDoc),
      .signature = pool_signature(),
      .infer = infer_fractional_pool,
      .cpu = fractional_pool(kAverage),
      .grad = grad::fractional_avg_pool,
      .foldable = false,
      .examples = {even_example("[[[[3]] [[7]]]]")},
  });
}

}  // namespace millrace

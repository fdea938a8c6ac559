// Part of families.h: register_distorted_boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/image/families.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/cpu_loops.h"
#include "millrace/ops/loops/philox_numbers.h"

namespace millrace {
namespace {

// In pixels; the far sides are not part of it.
struct PixelBox {
  int64_t top = 0, left = 0, bottom = 0, right = 0;

  float area() const { return static_cast<float>((right - left) * (bottom - top)); }
};

float common_area(const PixelBox& a, const PixelBox& b) {
  const PixelBox both{std::max(a.top, b.top), std::max(a.left, b.left),
                      std::min(a.bottom, b.bottom), std::min(a.right, b.right)};
  return both.top > both.bottom || both.left > both.right ? 0.f : both.area();
}

struct Range {
  float low = 0, high = 0;
};

struct Distortion {
  Range aspect_ratio, area;
  int64_t attempts = 0;
  bool uses_image = false;  // where there is no box
  float covered = 0;        // of one box at least this share; where no input says it
  bool has_covered_input = false;
};

struct BoundDistortion {
  Result<Distortion> read(const KernelSpec& spec) const {
    Distortion made;
    MR_ASSIGN(made.aspect_ratio, range(spec, "aspect_ratio_range", "Aspect ratio range"));
    MR_ASSIGN(made.area, range(spec, "area_range", "Area range"));
    if (!(made.area.low <= 1) || !(made.area.high <= 1)) {
      return invalid("Area range must be less then or equal to 1.0: [", made.area.low, ", ",
                     made.area.high, "]");
    }
    MR_ASSIGN(made.attempts, spec.attrs.integer("max_attempts"));
    if (made.attempts <= 0)
      return invalid("Max attempts must be non-negative: ", made.attempts, "; at least 1");
    MR_ASSIGN(made.uses_image, spec.attrs.boolean("use_image_if_no_bounding_boxes"));
    made.has_covered_input = spec.inputs.size() > 2;
    if (!made.has_covered_input) {
      MR_ASSIGN(made.covered, spec.attrs.real("min_object_covered"));
      MR_TRY(check_covered(made.covered));
    }
    return made;
  }

  static Status check_covered(float covered) {
    if (covered >= 0) return {};
    return invalid("Min object covered must be non-negative: ", covered);
  }

 private:
  static Result<Range> range(const KernelSpec& spec, std::string_view name,
                             std::string_view called) {
    const AttrValue* value = spec.attrs.find(name);
    const auto* list = value == nullptr ? nullptr : value->as_list_of<float>();
    if (list == nullptr || list->size() != 2)
      return invalid(called, " field must specify 2 dimensions");
    if (!((*list)[0] > 0) || !((*list)[1] > 0)) {
      return invalid(called, " must be non-negative: [", (*list)[0], ", ", (*list)[1], "]");
    }
    return Range{(*list)[0], (*list)[1]};
  }
};

// --- one attempt ---

// The nearest whole number; beyond all images if there is none that an image could have.
int64_t rounded(float x) {
  constexpr auto kMost = static_cast<float>(std::numeric_limits<int32_t>::max());
  return x >= 0 && x < kMost ? std::lrintf(x) : std::numeric_limits<int32_t>::max();
}

// How high a part of an image of this width and aspect ratio can be at most.
int64_t most_rows(int64_t rows, int64_t columns, float most_area, float aspect_ratio) {
  int64_t most = rounded(std::sqrt(most_area / aspect_ratio));
  if (rounded(static_cast<float>(most) * aspect_ratio) > columns) {
    constexpr float kLittle = 0.0000001f;
    const double wide = (static_cast<double>(columns) + 0.5 - kLittle) / aspect_ratio;
    most = static_cast<int64_t>(std::min(wide, 2147483647.0));
    if (rounded(static_cast<float>(most) * aspect_ratio) > columns) --most;
  }
  return std::min(most, rows);
}

// A part of an image whose area is in the range, at a random place and of a random size; none if
// rounding leaves no such part.
std::optional<PixelBox> random_part(int64_t rows, int64_t columns, Range area, float aspect_ratio,
                                    Philox& random) {
  if (!(aspect_ratio > 0) || rows <= 0 || columns <= 0 || area.low > area.high) return {};
  const float least = area.low * static_cast<float>(columns) * static_cast<float>(rows);
  const float most = area.high * static_cast<float>(columns) * static_cast<float>(rows);
  const int64_t most_high = most_rows(rows, columns, most, aspect_ratio);
  int64_t height = std::min(rounded(std::sqrt(least / aspect_ratio)), most_high);
  if (height < most_high) height += random.below32(static_cast<uint32_t>(most_high - height + 1));
  const auto width_of = [&](int64_t high) {
    return rounded(static_cast<float>(high) * aspect_ratio);
  };
  int64_t width = width_of(height);
  auto size = static_cast<float>(width * height);
  // Rounding may have left the range by a row.
  if (size < least) {
    width = width_of(++height);
    size = static_cast<float>(width * height);
  }
  if (size > most) {
    width = width_of(--height);
    size = static_cast<float>(width * height);
  }
  if (size < least || size > most || width > columns || height > rows || width <= 0 || height <= 0)
    return {};
  PixelBox part;
  if (height < rows) part.top = random.below32(static_cast<uint32_t>(rows - height));
  if (width < columns) part.left = random.below32(static_cast<uint32_t>(columns - width));
  part.bottom = part.top + height;
  part.right = part.left + width;
  return part;
}

// Whether a part covers that share of one of the objects, of which those without a pixel don't
// count.
bool covers_one(const PixelBox& part, float share, std::span<const PixelBox> objects) {
  if (part.area() < 1) return false;
  return std::ranges::any_of(objects, [&](const PixelBox& object) {
    return object.area() >= 1 && common_area(part, object) / object.area() >= share;
  });
}

// --- the kernel ---

// Three numbers of any type that sizes have here, also of the small ones.
using Three = std::array<int64_t, 3>;

template <class T>
Three read_three(const Tensor& tensor) {
  const auto all = tensor.flat<T>();
  return {static_cast<int64_t>(all[0]), static_cast<int64_t>(all[1]), static_cast<int64_t>(all[2])};
}

// Of those without a sign -1 is the largest.
template <class T>
Tensor make_three(const Three& all) {
  return Tensor::vector<T>(
      {static_cast<T>(all[0]), static_cast<T>(all[1]), static_cast<T>(all[2])});
}

struct ThreeLoops {
  Three (*read)(const Tensor& tensor) = nullptr;
  Tensor (*make)(const Three& all) = nullptr;

  static ThreeLoops of(DType dtype) {
    using Types = cpu::Types<uint8_t, int8_t, int16_t, int32_t, int64_t>;
    using Read = Three (*)(const Tensor&);
    using Make = Tensor (*)(const Three&);
    return {cpu::pick<Read>(Types(), dtype, []<class T>() -> Read { return &read_three<T>; }),
            cpu::pick<Make>(Types(), dtype, []<class T>() -> Make { return &make_three<T>; })};
  }
};

struct ImageSize {
  int64_t rows = 0, columns = 0;
};

Result<ImageSize> image_size(const Tensor& size, const ThreeLoops& loops) {
  if (size.shape().rank() != 1)
    return invalid("image_size must be 1-dimensional", size.shape().to_string());
  if (size.shape().dim(0) != 3)
    return invalid("image_size must contain 3 elements", size.shape().to_string());
  const Three sizes = loops.read(size);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (sizes[0] < 0 || sizes[0] >= kMost)
    return invalid("image height cannot be >= int32 max, or negative: ", sizes[0]);
  if (sizes[1] < 0 || sizes[1] >= kMost)
    return invalid("image width cannot be >= int32 max, or negative: ", sizes[1]);
  return ImageSize{sizes[0], sizes[1]};
}

Result<std::vector<PixelBox>> object_boxes(const Tensor& boxes, ImageSize size, bool uses_image,
                                           CancelProbe& probe) {
  if (boxes.shape().rank() != 3) {
    return invalid("input boxes must be 3-dimensional [batch, num_boxes, coords]: ",
                   boxes.shape().to_string());
  }
  if (boxes.shape().dim(2) != 4)
    return invalid("bounding boxes must have shape [4] or [*, 4], got ", boxes.shape().to_string());
  std::vector<PixelBox> found;
  const auto all = boxes.flat<float>();
  const auto rows = static_cast<float>(size.rows), columns = static_cast<float>(size.columns);
  for (size_t at = 0; at < all.size(); at += 4) {
    for (size_t i = at; i < at + 4; ++i) {
      if (all[i] >= 0 && all[i] <= 1) continue;
      return invalid("All bounding box coordinates must be in [0.0, 1.0]: ", all[i]);
    }
    found.push_back(
        {static_cast<int64_t>(all[at] * rows), static_cast<int64_t>(all[at + 1] * columns),
         static_cast<int64_t>(all[at + 2] * rows), static_cast<int64_t>(all[at + 3] * columns)});
    if (!probe.go_on(4)) return probe.status();
  }
  if (!found.empty()) return found;
  if (!uses_image) {
    return invalid(
        "No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes if "
        "you wish to not provide any bounding boxes.");
  }
  return std::vector<PixelBox>{{0, 0, size.rows, size.columns}};
}

Status distort(KernelContext& context, const Distortion& node, PhiloxBlocks blocks) {
  const ThreeLoops loops = ThreeLoops::of(context.input(0).dtype());
  if (loops.read == nullptr) return internal("no loop for ", dtype_name(context.input(0).dtype()));
  MR_ASSIGN(const ImageSize size, image_size(context.input(0), loops));
  float covered = node.covered;
  if (node.has_covered_input) {
    if (!context.input(2).shape().is_scalar()) {
      return invalid("min_object_covered must be 0-D, got shape ",
                     context.input(2).shape().to_string());
    }
    covered = context.input(2).item<float>();
    MR_TRY(BoundDistortion::check_covered(covered));
  }
  CancelProbe probe(context);
  MR_ASSIGN(const std::vector<PixelBox> objects,
            object_boxes(context.input(1), size, node.uses_image, probe));
  Philox random(blocks);
  PixelBox chosen{0, 0, size.rows, size.columns};
  for (int64_t i = 0; i < node.attempts; ++i) {
    const float aspect_ratio =
        random.real32() * (node.aspect_ratio.high - node.aspect_ratio.low) + node.aspect_ratio.low;
    const auto part = random_part(size.rows, size.columns, node.area, aspect_ratio, random);
    if (part && covers_one(*part, covered, objects)) {
      chosen = *part;
      break;
    }
    if (!probe.go_on(static_cast<int64_t>(16 + objects.size()))) return probe.status();
  }
  // All channels are kept.
  context.set_output(0, loops.make({chosen.top, chosen.left, 0}));
  context.set_output(1, loops.make({chosen.bottom - chosen.top, chosen.right - chosen.left, -1}));
  const auto rows = static_cast<float>(size.rows), columns = static_cast<float>(size.columns);
  context.set_output(2, Tensor::of<float>({1, 1, 4}, {static_cast<float>(chosen.top) / rows,
                                                      static_cast<float>(chosen.left) / columns,
                                                      static_cast<float>(chosen.bottom) / rows,
                                                      static_cast<float>(chosen.right) / columns}));
  return {};
}

struct BoundStream {
  Result<std::unique_ptr<PhiloxStream>> read(const KernelSpec& spec) const {
    return PhiloxStream::create(spec.attrs, spec.random);
  }
};

class DistortKernel final : public Kernel {
 public:
  DistortKernel(const Distortion& node, std::unique_ptr<PhiloxStream> stream)
      : node_(node), stream_(std::move(stream)) {}
  Status run(KernelContext& context) override {
    return distort(context, node_, stream_->reserve(static_cast<uint64_t>(node_.attempts)));
  }

 private:
  const Distortion node_;
  const std::unique_ptr<PhiloxStream> stream_;
};

Status distort_by_seed(KernelContext& context, const Distortion& node) {
  const Tensor& seed = context.input(3);
  if (seed.shape() != Shape{2})
    return invalid("seed must have shape [2], not ", seed.shape().to_string());
  MR_ASSIGN(const std::vector<int64_t> seeds, read_elements(seed, "seed"));
  return distort(
      context, node,
      PhiloxBlocks::scrambled(static_cast<uint64_t>(seeds[0]), static_cast<uint64_t>(seeds[1])));
}

Status infer_distorted(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 1));
  MR_TRY(context.input_of_rank(1, 3));
  if (context.num_inputs() > 2) MR_TRY(context.input_of_rank(2, 0));
  context.set_output(0, PartialShape{3});
  context.set_output(1, PartialShape{3});
  context.set_output(2, PartialShape{1, 1, 4});
  return {};
}

constexpr std::string_view kOutputs =
    " -> begin: T, size: T, bboxes: float | T: {uint8, int8, int16, int32, int64}";
constexpr std::string_view kRanges =
    ", aspect_ratio_range: list(float) = {0.75, 1.33}, area_range: list(float) = {0.05, 1.0}, "
    "max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = false";
constexpr std::string_view kSeeds = ", seed: int = 0, seed2: int = 0";

}  // namespace

Status register_distorted_boxes(OpRegistry& ops) {
  const std::string doc =
      "A random part of an image that covers enough of one of its boxes: where it begins, its "
      "size, and as a box; the whole image if max_attempts find none.";
  const std::string given = "[40 50 3], [[[0.1 0.2 0.9 0.8]]]";
  const std::string inputs = "image_size: T, bounding_boxes: float";
  MR_TRY(ops.add({
      .name = "SampleDistortedBoundingBox",
      .doc = doc,
      .signature = str_cat(inputs, kOutputs, kSeeds, ", min_object_covered: float = 0.1", kRanges),
      .infer = infer_distorted,
      .cpu = kernel_from<DistortKernel>(BoundDistortion(), BoundStream()),
      .not_differentiable = "chance decides what it gives, not its inputs",
      .stateful = true,
      .foldable = false,
      .examples = {given},
  }));
  MR_TRY(ops.add({
      .name = "SampleDistortedBoundingBoxV2",
      .doc = doc,
      .signature = str_cat(inputs, ", min_object_covered: float", kOutputs, kSeeds, kRanges),
      .infer = infer_distorted,
      .cpu = kernel_from<DistortKernel>(BoundDistortion(), BoundStream()),
      .not_differentiable = "chance decides what it gives, not its inputs",
      .stateful = true,
      .foldable = false,
      .examples = {given + ", 0.5"},
  }));
  return ops.add({
      .name = "StatelessSampleDistortedBoundingBox",
      .doc = doc,
      .signature = str_cat(inputs, ", min_object_covered: float, seed: Tseed", kOutputs,
                           ", Tseed: {int32, int64}", kRanges),
      .infer = infer_distorted,
      .cpu = kernel_with(distort_by_seed, BoundDistortion()),
      .not_differentiable = "its seeds decide what it gives, and they are no real numbers",
      .examples = {given + ", 0.5, [1 2]"},
  });
}

}  // namespace millrace

#include "millrace/ops/loops/strided_slice.h"

#include <algorithm>
#include <bit>

namespace millrace {
namespace {

bool has(uint64_t mask, size_t entry) { return entry < 64 && (mask >> entry & 1) != 0; }

int64_t entry_of(const std::optional<std::vector<int64_t>>& values, size_t entry) {
  return (*values)[entry];
}

// How many indices there are from `begin` on, `stride` apart, before `end` is reached.
int64_t count_steps(int64_t begin, int64_t end, int64_t stride) {
  const int64_t distance = stride > 0 ? end - begin : begin - end;
  if (distance <= 0) return 0;
  const uint64_t step = stride > 0 ? static_cast<uint64_t>(stride) : -static_cast<uint64_t>(stride);
  return static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / step) + 1;
}

class Planner {
 public:
  Planner(const PartialShape& input, const SliceArguments& arguments)
      : input_(input), arguments_(arguments) {}

  Result<SlicePlan> plan() {
    if (std::popcount(arguments_.masks.ellipsis) > 1)
      return invalid("Multiple ellipses in slice spec not allowed");
    MR_TRY(check_count());
    for (size_t entry = 0; entry < arguments_.count; ++entry) MR_TRY(add_entry(entry));
    while (axis_ < input_.rank()) take_whole_axis();
    return std::move(plan_);
  }

 private:
  // Where several bits are set, the ellipsis wins, then the new axis.
  bool is_ellipsis(size_t entry) const { return has(arguments_.masks.ellipsis, entry); }
  bool is_new_axis(size_t entry) const {
    return has(arguments_.masks.new_axis, entry) && !is_ellipsis(entry);
  }

  Status check_count() {
    // All entries beyond the masks' bits speak of axes; there may be too many to be counted.
    const bool is_too_long = arguments_.count > 64 + static_cast<size_t>(input_.rank());
    for (size_t entry = 0; entry < arguments_.count && !is_too_long; ++entry) {
      if (!is_ellipsis(entry) && !is_new_axis(entry)) ++indexed_axes_;
    }
    if (!is_too_long && indexed_axes_ <= input_.rank()) return {};
    return invalid("Index out of range using input dim ", input_.rank(), "; input has only ",
                   input_.rank(), " dims");
  }

  void take_whole_axis() {
    const int64_t dim = input_.dim(axis_++);
    add_axis(0, 1, dim);
    plan_.output.push_back(dim);
  }

  void add_axis(int64_t begin, int64_t stride, int64_t size) {
    plan_.begin.push_back(begin);
    plan_.stride.push_back(stride);
    plan_.size.push_back(size);
  }

  Status add_entry(size_t entry) {
    if (is_ellipsis(entry)) {
      for (int n = input_.rank() - indexed_axes_; n > 0; --n) take_whole_axis();
      return {};
    }
    if (is_new_axis(entry)) {
      plan_.output.push_back(1);
      return {};
    }
    if (has(arguments_.masks.shrink_axis, entry)) return add_index(entry);
    return add_range(entry);
  }

  Status add_index(size_t entry) {
    const int axis = axis_++;
    const int64_t dim = input_.dim(axis);
    if (arguments_.strides && entry_of(arguments_.strides, entry) <= 0)
      return invalid("only stride 1 allowed on non-range indexing.");
    int64_t index = 0;
    if (arguments_.begin && dim != kUnknownDim) {
      index = entry_of(arguments_.begin, entry);
      if (index < -dim || index >= dim)
        return invalid("slice index ", index, " of dimension ", axis, " out of bounds.");
      if (index < 0) index += dim;
    }
    add_axis(index, 1, 1);
    return {};
  }

  Status add_range(size_t entry) {
    const int64_t dim = input_.dim(axis_++);
    const int64_t stride = arguments_.strides ? entry_of(arguments_.strides, entry) : 0;
    if (arguments_.strides && stride == 0) return invalid("strides[", entry, "] must be non-zero");

    const bool from_edge = has(arguments_.masks.begin, entry);
    const bool to_edge = has(arguments_.masks.end, entry);
    const bool is_known = dim != kUnknownDim && arguments_.strides &&
                          (from_edge || arguments_.begin) && (to_edge || arguments_.end);
    if (!is_known) {
      const bool is_whole = from_edge && to_edge && (stride == 1 || stride == -1);
      add_axis(0, 1, is_whole ? dim : kUnknownDim);
      plan_.output.push_back(plan_.size.back());
      return {};
    }
    const int64_t lowest = stride > 0 ? 0 : -1;
    const int64_t highest = stride > 0 ? dim : dim - 1;
    const auto clamp = [&](int64_t index) {
      return std::clamp(index < 0 ? index + dim : index, lowest, highest);
    };
    const int64_t begin =
        from_edge ? (stride > 0 ? lowest : highest) : clamp(entry_of(arguments_.begin, entry));
    const int64_t end =
        to_edge ? (stride > 0 ? highest : lowest) : clamp(entry_of(arguments_.end, entry));
    const int64_t size = count_steps(begin, end, stride);
    // Where nothing is walked through, begin and stride mean nothing and must not overflow.
    add_axis(size > 0 ? begin : 0, size > 1 ? stride : 0, size);
    plan_.output.push_back(size);
    return {};
  }

  const PartialShape& input_;
  const SliceArguments& arguments_;
  int indexed_axes_ = 0;  // axes that an entry of their own speaks of
  int axis_ = 0;
  SlicePlan plan_;
};

}  // namespace

Result<SliceMasks> SliceMasks::from(const AttrView& attrs) {
  const auto mask = [&](std::string_view name) -> Result<uint64_t> {
    MR_ASSIGN(const int64_t bits, attrs.integer(name));
    return static_cast<uint64_t>(bits);
  };
  SliceMasks masks;
  MR_ASSIGN(masks.begin, mask("begin_mask"));
  MR_ASSIGN(masks.end, mask("end_mask"));
  MR_ASSIGN(masks.ellipsis, mask("ellipsis_mask"));
  MR_ASSIGN(masks.new_axis, mask("new_axis_mask"));
  MR_ASSIGN(masks.shrink_axis, mask("shrink_axis_mask"));
  return masks;
}

Result<SlicePlan> plan_slice(const PartialShape& input, const SliceArguments& arguments) {
  return Planner(input, arguments).plan();
}

}  // namespace millrace

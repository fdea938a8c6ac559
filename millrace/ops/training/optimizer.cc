#include "millrace/ops/training/optimizer.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/loops/forward.h"
#include "millrace/ops/state/made_once.h"
#include "millrace/ops/state/resource_access.h"
#include "millrace/ops/state/variable.h"

namespace millrace {
namespace {

constexpr int kMostVariables = 4;

enum class Kind : uint8_t { reference, resource };
enum class Extent : uint8_t { whole, rows };

bool is_gradient(std::string_view input) { return input == "grad" || input == "delta"; }

// Where an op of an optimizer has its inputs.
struct Layout {
  OptimizerOp optimizer;
  Kind kind;
  Extent extent;
  int gradient = 0, indices = -1;  // slots
  std::vector<int> scalars = {};   // slots
  // What the op looks at the signs of before it computes.
  std::vector<std::pair<int, Sign>> signs = {};

  Layout(OptimizerOp of, Kind kind, Extent extent)
      : optimizer(std::move(of)), kind(kind), extent(extent) {
    int slot = num_variables();
    for (const std::string& input : optimizer.inputs) {
      if (!is_gradient(input)) {
        note_sign(input, slot);
        scalars.push_back(slot++);
        continue;
      }
      gradient = slot++;
      if (extent == Extent::rows) indices = slot++;
    }
  }

  int num_variables() const { return static_cast<int>(optimizer.variables.size()); }
  std::string_view name_of(int slot) const {
    if (slot < num_variables()) return optimizer.variables[slot];
    const int input = slot - num_variables() - (indices >= 0 && slot > indices ? 1 : 0);
    return optimizer.inputs[input];
  }

 private:
  void note_sign(const std::string& input, int slot) {
    if (extent == Extent::whole && !optimizer.checks_signs_of_whole) return;
    for (const SignedInput& signed_input : optimizer.signs)
      if (signed_input.name == input) signs.emplace_back(slot, signed_input.sign);
  }
};

std::string op_name(const Layout& layout) {
  return str_cat(layout.kind == Kind::resource ? "Resource" : "",
                 layout.extent == Extent::rows ? "Sparse" : "", "Apply", layout.optimizer.name);
}

std::string signature_of(const Layout& layout) {
  const bool is_ref = layout.kind == Kind::reference;
  const bool has_rows = layout.extent == Extent::rows;
  std::string text;
  for (const std::string& variable : layout.optimizer.variables)
    str_append(&text, variable, is_ref ? ": ref(T), " : ": resource, ");
  for (const std::string& input : layout.optimizer.inputs) {
    // Rows of a gradient are called "grad" in all of them.
    const std::string_view name = has_rows && is_gradient(input) ? "grad" : std::string_view(input);
    str_append(&text, name, input == "global_step" ? ": int64" : ": T",
               has_rows && is_gradient(input) ? ", indices: Tindices" : "",
               &input == &layout.optimizer.inputs.back() ? "" : ", ");
  }
  str_append(&text, is_ref ? " -> out: ref(T)" : " ->", " | T: number",
             has_rows ? ", Tindices: {int32, int64}" : "", ", use_locking: bool = false");
  if (!layout.optimizer.flag.empty()) str_append(&text, ", ", layout.optimizer.flag);
  return text;
}

// --- variables ---

// A variable of either kind that an op is about to change.
struct HeldVariable {
  Mutex* mutex = nullptr;
  Tensor* tensor = nullptr;  // with the mutex held
  std::string_view name;
};
using HeldVariables = absl::InlinedVector<HeldVariable, kMostVariables>;

// Locks several variables, in the order of their mutexes' addresses and each of them once, however
// often it is named. Whoever locks more than one variable does it with this.
class VariableLocks {
 public:
  explicit VariableLocks(const HeldVariables& variables)
      MR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    for (const HeldVariable& variable : variables) mutexes_.push_back(variable.mutex);
    std::sort(mutexes_.begin(), mutexes_.end(), std::less<>());
    mutexes_.erase(std::unique(mutexes_.begin(), mutexes_.end()), mutexes_.end());
    for (Mutex* mutex : mutexes_) mutex->lock();
  }
  ~VariableLocks() MR_THREAD_ATTRIBUTE(no_thread_safety_analysis) {
    for (Mutex* mutex : mutexes_) mutex->unlock();
  }
  VariableLocks(const VariableLocks&) = delete;
  VariableLocks& operator=(const VariableLocks&) = delete;

 private:
  absl::InlinedVector<Mutex*, kMostVariables> mutexes_;
};

// --- checks ---

Status check_scalars(const KernelContext& context, const Layout& layout) {
  for (const int slot : layout.scalars) {
    const Shape& shape = context.input(slot).shape();
    if (!shape.is_scalar())
      return invalid(layout.name_of(slot), " is not a scalar: ", shape.to_string());
  }
  return {};
}

double real_value(const Tensor& scalar) {
  switch (scalar.dtype()) {
    case DType::f16:
      return static_cast<float>(scalar.item<Half>());
    case DType::bf16:
      return static_cast<float>(scalar.item<BFloat16>());
    case DType::f32:
      return scalar.item<float>();
    default:
      return scalar.item<double>();
  }
}

struct SignWords {
  bool holds;
  std::string_view words;
};

SignWords sign_of(double value, Sign wanted, bool flag) {
  switch (wanted) {
    case Sign::positive:
      return {value > 0, "positive"};
    case Sign::positive_or_flagged:
      return {value > 0 || (flag && value == 0), "positive"};
    case Sign::not_negative:
      return {value >= 0, "non-negative"};
    case Sign::not_positive:
      return {value <= 0, "non-positive"};
  }
  return {true, {}};
}

Status check_signs(const KernelContext& context, const Layout& layout, bool flag) {
  for (const auto& [slot, wanted] : layout.signs) {
    const double value = real_value(context.input(slot));
    const SignWords sign = sign_of(value, wanted, flag);
    if (!sign.holds)
      return invalid(layout.name_of(slot), " is not a ", sign.words, " scalar: ", value);
  }
  return {};
}

Status check_variables(const Layout& layout, const HeldVariables& variables, DType dtype) {
  for (const HeldVariable& variable : variables) {
    if (!variable.tensor->has_value())
      return failed_precondition("Attempting to use uninitialized variables: ", variable.name);
    if (variable.tensor->dtype() != dtype) {
      return invalid("Trying to read variable with wrong dtype. Expected ", dtype_name(dtype),
                     " got ", dtype_name(variable.tensor->dtype()));
    }
  }
  const Shape& shape = variables[0].tensor->shape();
  for (size_t v = 1; v < variables.size(); ++v) {
    if (variables[v].tensor->shape() == shape) continue;
    return invalid("var and ", layout.optimizer.variables[v], " do not have the same shape",
                   shape.to_string(), " ", variables[v].tensor->shape().to_string());
  }
  return {};
}

// The rows that a sparse gradient is of, all of them there.
Result<std::vector<int64_t>> check_rows(const OptimizerOp& optimizer, const Tensor& variable,
                                        const Tensor& gradient, const Tensor& indices) {
  const Shape& shape = variable.shape();
  const Shape& rows = gradient.shape();
  if (shape.rank() < 1) return invalid("var must be at least 1 dimensional");
  if (indices.shape().rank() != 1) return invalid("indices must be one-dimensional");
  if (rows.rank() != shape.rank()) {
    return invalid("grad must have the same number of dimensions as var: ", rows.to_string(),
                   " and ", shape.to_string());
  }
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) != rows.dim(axis))
      return invalid("var and grad must match in dimension ", axis);
  }
  if (rows.dim(0) != indices.shape().dim(0))
    return invalid("grad must be the same size as indices in the first dimension.");
  const auto rest = shape.dims().subspan(1);
  if (optimizer.refuses_empty_rows && std::ranges::find(rest, 0) != rest.end())
    return invalid("a row of var must have elements; var is ", shape.to_string());
  MR_ASSIGN(std::vector<int64_t> places, read_integers(indices, "indices"));
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] >= 0 && places[i] < shape.dim(0)) continue;
    return invalid("Index ", places[i], " at offset ", i, " in indices is out of range [0, ",
                   shape.dim(0), ")");
  }
  return places;
}

// --- the kernel ---

class ApplyKernel final : public Kernel {
 public:
  ApplyKernel(const Layout& layout, UpdateLoop loop, bool flag)
      : layout_(layout), loop_(loop), flag_(flag) {}

  Status run(KernelContext& context) override {
    MR_TRY(check_scalars(context, layout_));
    // What the references point into lives as long as these.
    absl::InlinedVector<std::shared_ptr<StoredVariable>, kMostVariables> found;
    HeldVariables variables;
    for (int slot = 0; slot < layout_.num_variables(); ++slot) {
      if (layout_.kind == Kind::reference) {
        const TensorRef& ref = context.input_ref(slot);
        variables.push_back({ref.mutex, ref.tensor, ref.name});
        continue;
      }
      MR_ASSIGN(std::shared_ptr<StoredVariable> variable, find(context, slot));
      variables.push_back({&variable->mutex(), variable->tensor(), variable->name()});
      found.push_back(std::move(variable));
    }
    {
      VariableLocks locks(variables);
      MR_TRY(update(context, variables));
    }
    if (layout_.kind == Kind::reference) forward(context, 0, 0);
    return {};
  }

 private:
  Result<std::shared_ptr<StoredVariable>> find(KernelContext& context, int slot) {
    MR_ASSIGN(const ResourceName name, named_by_input(context, slot, StoredVariable::kTypeName));
    auto found =
        cached_[slot].get(*context.step().device->resources, name,
                          [](ResourceStore& resources, const ResourceName& wanted) {
                            return resources.find<StoredVariable>(wanted.container, wanted.name);
                          });
    // TensorFlow's code: it looks for the variable's mutex first, and takes its lack for a fault.
    if (found.status().code() == Code::not_found) return internal(found.status().message());
    return found;
  }

  // With all locks held.
  Status update(KernelContext& context, const HeldVariables& variables) const {
    const Tensor& gradient = context.input(layout_.gradient);
    MR_TRY(check_variables(layout_, variables, gradient.dtype()));
    MR_TRY(check_signs(context, layout_, flag_));
    const Tensor& first = *variables[0].tensor;
    std::vector<int64_t> rows = {0};
    if (layout_.extent == Extent::rows) {
      const Tensor& indices = context.input(layout_.indices);
      MR_ASSIGN(rows, check_rows(layout_.optimizer, first, gradient, indices));
    } else if (gradient.shape() != first.shape()) {
      return invalid("var and ", layout_.name_of(layout_.gradient), " do not have the same shape",
                     first.shape().to_string(), " ", gradient.shape().to_string());
    }
    if (gradient.num_elements() == 0) return {};

    UpdateSettings settings{.flag = flag_};
    for (const int slot : layout_.scalars) settings.scalars.push_back(context.input(slot));
    // Only now: whatever can fail does so before the first element changes.
    absl::InlinedVector<char*, kMostVariables> data;
    for (const HeldVariable& variable : variables) MR_TRY(unshare(*variable.tensor));
    for (const HeldVariable& variable : variables)
      data.push_back(static_cast<char*>(variable.tensor->mutable_data()));
    const int64_t length = gradient.num_elements() / static_cast<int64_t>(rows.size());
    loop_(data, static_cast<const char*>(gradient.data()), rows, length, settings);
    return {};
  }

  const Layout layout_;
  const UpdateLoop loop_;
  const bool flag_;
  std::array<CachedResource<StoredVariable>, kMostVariables> cached_;
};

KernelFactory applying(const Layout& layout) {
  return [layout](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    const DType dtype = spec.inputs[static_cast<size_t>(layout.gradient)].dtype;
    const UpdateLoop loop = layout.optimizer.loop_for(dtype);
    if (loop == nullptr) return cpu::no_loop(spec, dtype);
    bool flag = false;
    const std::string& declared = layout.optimizer.flag;
    if (!declared.empty()) {
      MR_ASSIGN(flag, spec.attrs.boolean(std::string_view(declared).substr(0, declared.find(':'))));
    }
    return std::unique_ptr<Kernel>(std::make_unique<ApplyKernel>(layout, loop, flag));
  };
}

// --- shapes ---

InferFn inferring(const Layout& layout) {
  return [layout](InferContext& context) -> Status {
    for (const int slot : layout.scalars)
      MR_TRY(context.input_of_rank(slot, 0).with(layout.name_of(slot)));
    if (layout.extent == Extent::rows) MR_TRY(context.input_of_rank(layout.indices, 1));
    // What a handle's variable looks like is not known here.
    if (layout.kind == Kind::resource) return {};
    PartialShape shape = context.input(0);
    for (int slot = 1; slot < layout.num_variables(); ++slot) {
      MR_ASSIGN(shape, shape.merge(context.input(slot)));
    }
    if (layout.extent == Extent::whole) {
      MR_ASSIGN(shape, shape.merge(context.input(layout.gradient)));
    }
    context.set_output(0, std::move(shape));
    return {};
  };
}

}  // namespace

Status add_optimizer(OpRegistry& ops, const OptimizerOp& optimizer) {
  for (const Kind kind : {Kind::reference, Kind::resource}) {
    if (kind == Kind::reference && !optimizer.has_reference_form) continue;
    for (const Extent extent : {Extent::whole, Extent::rows}) {
      if (extent == Extent::rows && !optimizer.has_sparse_form) continue;
      const Layout layout(optimizer, kind, extent);
      MR_TRY(ops.add({
          .name = op_name(layout),
          .doc = extent == Extent::whole
                     ? optimizer.doc
                     : str_cat(optimizer.doc,
                               " Only in the rows that indices name, one after the "
                               "other; others stay as they are."),
          .signature = signature_of(layout),
          .infer = inferring(layout),
          .cpu = made_once(applying(layout)),
          .not_differentiable = "it changes a variable; what it changes has no gradient",
          .stateful = true,
          .foldable = false,
      }));
    }
  }
  return {};
}

}  // namespace millrace

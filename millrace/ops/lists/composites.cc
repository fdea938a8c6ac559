// Part of families.h: register_composites: what is made of several tensors, in one variant.
#include <utility>

#include "millrace/format/wire_format.h"
#include "millrace/op/bind.h"
#include "millrace/op/gradient.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/op/variant_type.h"
#include "millrace/ops/lists/families.h"

namespace millrace {
namespace {

// As TensorFlow's: the components as tensors; the metadata is a CompositeTensorVariantMetadata, in
// whose field 1, a TypeSpecProto, field 1 says of which class the thing is.
constexpr std::string_view kCompositeType = "CompositeTensorVariant";

struct SpecClass {
  uint64_t number = 0;
  friend bool operator==(const SpecClass&, const SpecClass&) = default;

  std::string name() const {
    constexpr std::string_view kNames[] = {"UNKNOWN",
                                           "SPARSE_TENSOR_SPEC",
                                           "INDEXED_SLICES_SPEC",
                                           "RAGGED_TENSOR_SPEC",
                                           "TENSOR_ARRAY_SPEC",
                                           "DATA_DATASET_SPEC",
                                           "DATA_ITERATOR_SPEC",
                                           "OPTIONAL_SPEC",
                                           "PER_REPLICA_SPEC",
                                           "VARIABLE_SPEC",
                                           "ROW_PARTITION_SPEC",
                                           "REGISTERED_TYPE_SPEC",
                                           "EXTENSION_TYPE_SPEC"};
    if (number < std::size(kNames)) return std::string(kNames[number]);
    return str_cat("spec of class ", number);
  }
};

// Errors: INVALID_ARGUMENT for bytes that are no such message.
Result<SpecClass> spec_class(std::string_view metadata) {
  SpecClass made;
  wire::Reader reader(metadata);
  for (wire::Field field; reader.next(&field);) {
    if (!field.is(1, wire::WireType::bytes)) continue;
    wire::Reader spec = reader.inside(field);
    for (wire::Field part; spec.next(&part);)
      if (part.is(1, wire::WireType::varint)) made.number = part.value;
    MR_TRY(spec.status().with("Error parsing metadata"));
  }
  MR_TRY(reader.status().with("Error parsing metadata"));
  return made;
}

class JoinKernel final : public Kernel {
 public:
  explicit JoinKernel(std::string metadata) : metadata_(std::move(metadata)) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(std::string metadata, spec.attrs.string("metadata"));
    MR_TRY(spec_class(metadata));
    return std::unique_ptr<Kernel>(std::make_unique<JoinKernel>(std::move(metadata)));
  }
  Status run(KernelContext& context) override {
    Variant made{std::string(kCompositeType), metadata_, {}};
    for (int slot = 0; slot < context.num_inputs(); ++slot)
      made.tensors.push_back(context.input(slot));
    MR_TRY(made.settle());
    context.set_output(0, Tensor::scalar(std::move(made)));
    return {};
  }

 private:
  const std::string metadata_;
};

class PartKernel final : public Kernel {
 public:
  explicit PartKernel(SpecClass wanted) : wanted_(wanted) {}
  static Result<std::unique_ptr<Kernel>> create(const KernelSpec& spec) {
    MR_ASSIGN(const std::string metadata, spec.attrs.string("metadata"));
    MR_ASSIGN(const SpecClass wanted, spec_class(metadata));
    return std::unique_ptr<Kernel>(std::make_unique<PartKernel>(wanted));
  }
  Status run(KernelContext& context) override {
    const Tensor& encoded = context.input(0);
    if (!encoded.shape().is_scalar() || encoded.item<Variant>().type_name != kCompositeType) {
      return invalid("The input `encoded` is not a valid CompositeTensorVariant tensor, got ",
                     encoded.to_string());
    }
    const Variant& thing = encoded.item<Variant>();
    MR_ASSIGN(const SpecClass found, spec_class(thing.metadata));
    if (found != wanted_) {
      return invalid("Expected a ", wanted_.name(),
                     " (based on `type_spec`), but `encoded` contains a ", found.name());
    }
    const auto parts = static_cast<int>(thing.tensors.size());
    if (parts != context.num_outputs()) {
      return invalid("Encoded value has ", parts, " tensor components; expected ",
                     context.num_outputs(), " components based on type_spec");
    }
    for (int slot = 0; slot < parts; ++slot) {
      const Tensor& part = thing.tensors[static_cast<size_t>(slot)];
      if (!part.has_value() || part.dtype() != context.output_dtype(slot)) {
        return invalid("Tensor component ", slot, " had dtype ", dtype_name(part.dtype()),
                       "; expected dtype ", dtype_name(context.output_dtype(slot)));
      }
      context.set_output(slot, part);
    }
    return {};
  }

 private:
  const SpecClass wanted_;
};

Status join_gradient(GradContext& g) {
  MR_ASSIGN(std::string metadata, g.attrs().string("metadata"));
  MR_ASSIGN(std::vector<DType> types, g.attrs().types("Tcomponents"));
  const Endpoint parts =
      g.add("CompositeTensorVariantToComponents", {g.grad()},
            {{"metadata", std::move(metadata)}, {"Tcomponents", std::move(types)}});
  for (int slot = 0; slot < g.num_inputs(); ++slot)
    g.set_input_grad(slot, Endpoint{parts.node, slot});
  return {};
}

Status part_gradient(GradContext& g) {
  MR_ASSIGN(std::string metadata, g.attrs().string("metadata"));
  MR_ASSIGN(std::vector<DType> types, g.attrs().types("Tcomponents"));
  std::vector<Endpoint> parts;
  for (int slot = 0; slot < g.num_outputs(); ++slot) parts.push_back(g.grad(slot));
  g.set_input_grad(0,
                   g.add("CompositeTensorVariantFromComponents", parts,
                         {{"metadata", std::move(metadata)}, {"Tcomponents", std::move(types)}}));
  return {};
}

Result<Variant> zeros_of_composite(const Variant& of, TensorArithmetic& tensors) {
  Variant made = of;
  for (Tensor& part : made.tensors) {
    MR_ASSIGN(part, tensors.zeros_like(part));
  }
  return made;
}

}  // namespace

Status register_composites(OpRegistry& ops) {
  MR_TRY(ops.add_variant({.type_name = std::string(kCompositeType),
                          .plural = "composite tensors",
                          .zeros_like = zeros_of_composite}));
  MR_TRY(ops.add({
      .name = "CompositeTensorVariantFromComponents",
      .doc = "What is made of several tensors, in one variant; metadata says what it is.",
      .signature = "components: Tcomponents -> encoded: variant | metadata: string, "
                   "Tcomponents: list(type) >= 0",
      .infer = infer::scalar,
      .cpu = kernel_class<JoinKernel>(),
      .grad = join_gradient,
  }));
  return ops.add({
      .name = "CompositeTensorVariantToComponents",
      .doc = "The tensors that the thing in a variant is made of, if it is of the class that "
             "metadata says.",
      .signature = "encoded: variant -> components: Tcomponents | metadata: string, "
                   "Tcomponents: list(type) >= 0",
      .infer = infer::unknown,
      .cpu = kernel_class<PartKernel>(),
      .grad = part_gradient,
  });
}

}  // namespace millrace

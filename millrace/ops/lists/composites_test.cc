// Composite tensors in variants: what comes back, and what is refused.
#include "doctest/doctest.h"

#include "millrace/ops/lists/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

// CompositeTensorVariantMetadata with a TypeSpecProto of this class.
std::string class_of(char number) { return std::string("\x0a\x02\x08") + number; }
constexpr char kSparse = 1, kRagged = 3;

class Composites {
 public:
  Composites() { REQUIRE(register_lists(ops_).ok()); }
  Result<std::vector<Tensor>> join(std::vector<Tensor> parts, std::string metadata) {
    std::vector<DType> types;
    for (const Tensor& part : parts) types.push_back(part.dtype());
    return run_op(ops_, "CompositeTensorVariantFromComponents", std::move(parts),
                  {{"metadata", std::move(metadata)}, {"Tcomponents", types}});
  }
  Result<std::vector<Tensor>> part(Tensor encoded, std::vector<DType> types, std::string metadata) {
    return run_op(ops_, "CompositeTensorVariantToComponents", {std::move(encoded)},
                  {{"metadata", std::move(metadata)}, {"Tcomponents", std::move(types)}});
  }

 private:
  OpRegistry ops_;
};

TEST_CASE("the tensors of a composite come back as they were") {
  Composites composites;
  const Tensor values = Tensor::vector<int32_t>({1, 2, 3}),
               splits = Tensor::vector<int64_t>({0, 2, 3});
  const Tensor ragged = composites.join({values, splits}, class_of(kRagged)).value()[0];
  CHECK(ragged.item<Variant>().type_name == "CompositeTensorVariant");
  const auto parts = composites.part(ragged, {DType::i32, DType::i64}, class_of(kRagged)).value();
  CHECK(parts[0] == values);
  CHECK(parts[1] == splits);
  CHECK(composites.part(composites.join({}, "").value()[0], {}, "").value().empty());
}

TEST_CASE("another class, number or type of parts than are there is refused") {
  Composites composites;
  const Tensor one = Tensor::scalar<int32_t>(1);
  const Tensor ragged = composites.join({one}, class_of(kRagged)).value()[0];
  CHECK(composites.part(ragged, {DType::i32}, class_of(kSparse)).status().message() ==
        "Expected a SPARSE_TENSOR_SPEC (based on `type_spec`), but `encoded` contains a "
        "RAGGED_TENSOR_SPEC");
  CHECK(composites.part(ragged, {DType::i32, DType::i32}, class_of(kRagged)).status().message() ==
        "Encoded value has 1 tensor components; expected 2 components based on type_spec");
  CHECK(composites.part(ragged, {DType::f32}, class_of(kRagged)).status().message() ==
        "Tensor component 0 had dtype int32; expected dtype float");
  CHECK(composites.part(Tensor::scalar(Variant()), {DType::i32}, "")
            .status()
            .message()
            .starts_with("The input `encoded` is not a valid CompositeTensorVariant tensor"));
  CHECK(composites.join({one}, "xyz").status().message().starts_with("Error parsing metadata"));
}

}  // namespace
}  // namespace millrace

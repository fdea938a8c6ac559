// Part of families.h: register_sparse_serialized.
#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/arguments.h"
#include "millrace/ops/sparse/families.h"
#include "millrace/ops/sparse/pieces.h"
#include "millrace/tensor/boxes.h"
#include "millrace/wire/tensor_codec.h"

namespace millrace {
namespace {

// Puts the three tensors of a piece into elements [3 * at, 3 * at + 3).
Status put_piece(Tensor& out, size_t at, const std::array<Tensor, 3>& parts) {
  for (size_t i = 0; i < 3; ++i) {
    if (out.dtype() == DType::string) {
      out.mutable_flat<std::string>()[3 * at + i] = wire::encode_tensor_proto(parts[i]);
    } else {
      MR_ASSIGN(out.mutable_flat<Variant>()[3 * at + i], boxed(kBoxedTensor, {parts[i]}));
    }
  }
  return {};
}

Result<Tensor> serialize_one(KernelContext& context) {
  if (context.input(0).shape().rank() != 2) {
    return invalid("Input indices should be a matrix but received shape ",
                   context.input(0).shape().to_string());
  }
  for (const int slot : {1, 2}) {
    if (context.input(slot).shape().rank() == 1) continue;
    return invalid("Input ", slot == 1 ? "values" : "shape",
                   " should be a vector but received shape ",
                   context.input(slot).shape().to_string());
  }
  MR_ASSIGN(Tensor made, context.allocate(0, {3}));
  MR_TRY(put_piece(made, 0, {context.input(0), context.input(1), context.input(2)}));
  return made;
}

Result<Tensor> serialize_many(KernelContext& context) {
  MR_ASSIGN(const SparseInput in, read_sparse(context, 0, Places::anywhere));
  MR_ASSIGN(const std::vector<SparsePiece> pieces, cut_by_rows(in));
  MR_ASSIGN(Tensor made, context.allocate(0, {static_cast<int64_t>(pieces.size()), 3}));
  CancelProbe probe(context);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Tensor dims = Tensor::vector<int64_t>(pieces[i].dims);
    MR_TRY(put_piece(made, i, {pieces[i].indices, pieces[i].values, dims}));
    if (!probe.go_on(pieces[i].indices.num_elements() + 3)) return probe.status();
  }
  return made;
}

Status infer_serialize_one(InferContext& context) {
  MR_TRY(infer_sparse(context));
  context.set_output(0, PartialShape{3});
  return {};
}

Status infer_serialize_many(InferContext& context) {
  MR_TRY(infer_sparse(context));
  context.set_output(0, PartialShape{kUnknownDim, 3});
  return {};
}

// --- back ---

Result<Tensor> unpacked(const Tensor& serialized, size_t i, std::string_view what) {
  if (serialized.dtype() == DType::string) {
    return wire::decode_tensor_bytes(serialized.flat<std::string>()[i])
        .with("Could not parse serialized proto");
  }
  const Variant& boxed = serialized.flat<Variant>()[i];
  if (boxed.type_name != kBoxedTensor || boxed.tensors.size() != 1)
    return invalid("Could not get a tensor from the ", what, ", a '",
                   boxed.type_name.substr(0, 100), "'");
  return boxed.tensors[0];
}

Result<SparsePiece> read_piece(const Tensor& serialized, size_t index, DType dtype) {
  SparsePiece made;
  MR_ASSIGN(made.indices, unpacked(serialized, 3 * index, "indices"));
  MR_ASSIGN(made.values, unpacked(serialized, 3 * index + 1, "values"));
  MR_ASSIGN(const Tensor dims, unpacked(serialized, 3 * index + 2, "shape"));
  if (made.indices.dtype() != DType::i64 || dims.dtype() != DType::i64) {
    return invalid("Expected the indices and the shape of SparseTensor[", index,
                   "] to be int64 but they are ", dtype_name(made.indices.dtype()), " and ",
                   dtype_name(dims.dtype()));
  }
  if (made.values.dtype() != dtype) {
    return invalid("Requested SparseTensor of type ", dtype_name(dtype), " but SparseTensor[",
                   index, "].values.dtype() == ", dtype_name(made.values.dtype()));
  }
  MR_ASSIGN(const SparseInput checked,
            read_sparse(made.indices, made.values, dims, Places::anywhere)
                .with(str_cat("SparseTensor[", index, "]")));
  made.dims = checked.dims;
  return made;
}

Status deserialize(KernelContext& context, DType dtype) {
  const Tensor& serialized = context.input(0);
  const Shape shape = serialized.shape();
  if (shape.rank() == 0)
    return invalid("Serialized sparse should have non-zero rank ", shape.to_string());
  if (shape.dim(shape.rank() - 1) != 3) {
    return invalid("Serialized sparse should have 3 as the last dimension ", shape.to_string());
  }
  if (serialized.num_elements() == 0) {
    return invalid(
        "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension ",
        shape.to_string());
  }
  std::vector<SparsePiece> pieces;
  CancelProbe probe(context);
  for (int64_t i = 0; i < serialized.num_elements() / 3; ++i) {
    MR_ASSIGN(SparsePiece piece, read_piece(serialized, static_cast<size_t>(i), dtype));
    if (!probe.go_on(piece.indices.num_elements() + 3)) return probe.status();
    pieces.push_back(std::move(piece));
  }
  const auto lead = shape.dims().first(static_cast<size_t>(shape.rank() - 1));
  MR_ASSIGN(SparsePiece made, stack_pieces(pieces, lead));
  set_piece(context, std::move(made));
  return {};
}

Status infer_deserialize(InferContext& context) {
  const PartialShape& serialized = context.input(0);
  if (serialized.has_rank() && serialized.rank() < 1)
    return invalid("Serialized sparse should have non-zero rank ", serialized.to_string());
  return set_sparse(context, kUnknownDim, kUnknownDim);
}

// Messages of an int64 matrix [[2]], a float vector and an int64 vector [5].
constexpr std::string_view kSerialized =
    "'\x08\x09\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01\x52\x01\x02' "
    "'\x08\x01\x12\x04\x12\x02\x08\x01\"\x04"
    "AAAA' '\x08\x09\x12\x04\x12\x02\x08\x01\x52\x01\x05'";

}  // namespace

Status register_sparse_serialized(OpRegistry& ops) {
  const std::string sparse =
      "sparse_indices: int64, sparse_values: T, sparse_shape: int64 -> "
      "serialized_sparse: out_type | T: type, out_type: {string, variant} = string";
  const std::string outputs =
      " -> sparse_indices: int64, sparse_values: dtype, sparse_shape: int64 | dtype: type";
  MR_TRY(ops.add({
      .name = "SerializeSparse",
      .doc = "The three tensors of a sparse one, as bytes of TensorProtos or in variants.",
      .signature = sparse,
      .infer = infer_serialize_one,
      .cpu = kernel(serialize_one),
      .not_differentiable = "bytes have no gradient",
      .examples = {"[[0 1]], [1], [2 3]"},
  }));
  MR_TRY(ops.add({
      .name = "SerializeManySparse",
      .doc = "The rows of a sparse tensor along its first axis, each as three TensorProtos or "
             "variants. Its places must be in order.",
      .signature = sparse,
      .infer = infer_serialize_many,
      .cpu = kernel(serialize_many),
      .not_differentiable = "bytes have no gradient",
      .examples = {"[[0 1] [1 2]], [1 0], [2 3]"},
  }));
  MR_TRY(ops.add({
      .name = "DeserializeSparse",
      .doc = "Sparse tensors from what SerializeSparse made, stacked as they stand in the input.",
      .signature =
          "serialized_sparse: Tserialized" + outputs + ", Tserialized: {string, variant} = string",
      .infer = infer_deserialize,
      .cpu = kernel_with(deserialize, type("dtype")),
      .not_differentiable = "bytes have no gradient",
      .examples = {str_cat("[", kSerialized, "] -> [[2]], [12.0784311], [5] | dtype = float"),
                   str_cat("[[", kSerialized,
                           "]] -> [[0 2]], [12.0784311], [1 5] | dtype = float")},
  }));
  return ops.add({
      .name = "DeserializeManySparse",
      .doc = "The sparse tensors of a batch from their bytes, under a new first axis.",
      .signature = "serialized_sparse: string" + outputs,
      .infer = infer_deserialize,
      .cpu = kernel_with(deserialize, type("dtype")),
      .not_differentiable = "bytes have no gradient",
      .examples = {str_cat("[[", kSerialized, "] [", kSerialized,
                           "]] -> [[0 2] [1 2]], [12.0784311 12.0784311], [2 5] | dtype = float")},
  });
}

}  // namespace millrace

// Part of families.h: register_fingerprints.
#include <farmhash.h>

#include <cstring>

#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/op/kernel.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

constexpr int64_t kFingerprintBytes = 8;

// A fingerprint's bytes, the lowest first.
void put_fingerprint(std::string_view bytes, char* to) {
  const uint64_t fingerprint = util::Fingerprint64(bytes.data(), bytes.size());
  for (int64_t i = 0; i < kFingerprintBytes; ++i) to[i] = static_cast<char>(fingerprint >> (8 * i));
}

// Of one string its own; of several that of their fingerprints, so that it matters where one ends.
void put_text_fingerprint(std::span<const std::string> texts, char* to) {
  if (texts.size() == 1) return put_fingerprint(texts[0], to);
  std::string all(texts.size() * kFingerprintBytes, '\0');
  for (size_t i = 0; i < texts.size(); ++i)
    put_fingerprint(texts[i], all.data() + i * kFingerprintBytes);
  put_fingerprint(all, to);
}

Result<Tensor> fingerprint(KernelContext& context) {
  const Tensor &data = context.input(0), &method = context.input(1);
  if (data.shape().rank() == 0)
    return invalid("`data` should have at least one dimension: ", data.shape().to_string());
  if (!method.shape().is_scalar())
    return invalid("`method` should be a scalar string: ", method.shape().to_string());
  if (method.item<std::string>() != "farmhash64")
    return invalid("Unsupported fingerprint method: ", method.item<std::string>());
  if (data.dtype() == DType::resource || data.dtype() == DType::variant)
    return invalid("a ", dtype_name(data.dtype()), " has no bytes to make a fingerprint of");
  const int64_t rows = data.shape().dim(0);
  MR_ASSIGN(const Shape shape, Shape::create(std::vector<int64_t>{rows, kFingerprintBytes}));
  MR_ASSIGN(Tensor made, context.allocate(0, shape));
  if (rows == 0) return made;
  const auto each = static_cast<size_t>(data.num_elements() / rows);
  char* to = static_cast<char*>(made.mutable_data());
  CancelProbe probe(context);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row, to += kFingerprintBytes) {
    if (data.dtype() == DType::string) {
      put_text_fingerprint(data.flat<std::string>().subspan(row * each, each), to);
    } else {
      const size_t bytes = each * dtype_size(data.dtype());
      put_fingerprint(data.bytes().substr(row * bytes, bytes), to);
    }
    if (!probe.go_on(static_cast<int64_t>(16 + each))) return probe.status();
  }
  return made;
}

Status infer_fingerprint(InferContext& context) {
  const PartialShape& data = context.input(0);
  if (data.has_rank() && data.rank() == 0)
    return invalid("`data` should have at least one dimension: ", data.to_string());
  const int64_t rows = data.has_rank() ? data.dim(0) : kUnknownDim;
  return context.set_output(0, PartialShape::create(Shape::Dims{rows, kFingerprintBytes}));
}

}  // namespace

Status register_fingerprints(OpRegistry& ops) {
  return ops.add({
      .name = "Fingerprint",
      .doc = "FarmHash's fingerprint of the bytes of each row of data, 8 bytes each.",
      .signature = "data: T, method: string -> fingerprint: uint8 | T: type",
      .infer = infer_fingerprint,
      .cpu = kernel(fingerprint),
      .not_differentiable = "it gives bytes of a hash",
      .examples = {"[[1 2] [3 4]], 'farmhash64' -> [[76 18 253 133 168 204 240 10] "
                   "[254 162 60 240 103 244 53 255]] | T = int32",
                   "[['a' 'b'] ['c' 'd']], 'farmhash64' -> [[122 64 59 169 136 60 55 83] "
                   "[52 252 224 38 64 226 155 60]] | T = string",
                   "[1 2], 'farmhash64'"},
  });
}

}  // namespace millrace

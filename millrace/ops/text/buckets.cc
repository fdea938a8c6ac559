// Part of families.h: register_buckets.
#include <farmhash.h>

#include "millrace/op/bind.h"
#include "millrace/op/cancel_probe.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/hashes.h"
#include "millrace/ops/text/families.h"

namespace millrace {
namespace {

template <class Hash>
Result<Tensor> buckets_of(KernelContext& context, int64_t count, Hash hash) {
  const Tensor& input = context.input(0);
  MR_ASSIGN(Tensor output, context.allocate(0, input.shape()));
  const auto texts = input.flat<std::string>();
  const auto buckets = output.mutable_flat<int64_t>();
  CancelProbe probe(context);
  for (size_t i = 0; i < texts.size(); ++i) {
    buckets[i] = static_cast<int64_t>(hash(texts[i]) % static_cast<uint64_t>(count));
    if (!probe.go_on(static_cast<int64_t>(1 + texts[i].size() / 8))) return probe.status();
  }
  return output;
}

Result<Tensor> old_buckets(KernelContext& context, int64_t count) {
  return buckets_of(context, count, murmur_hash64);
}

Result<Tensor> fast_buckets(KernelContext& context, int64_t count) {
  return buckets_of(context, count, [](const std::string& text) {
    return util::Fingerprint64(text.data(), text.size());
  });
}

struct BoundKey {
  Result<SipKey> read(const KernelSpec& spec) const {
    MR_ASSIGN(const std::vector<int64_t> key, spec.attrs.integers("key"));
    if (key.size() != 2) return invalid("Key must have 2 elements");
    return SipKey{static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])};
  }
};

Result<Tensor> strong_buckets(KernelContext& context, int64_t count, SipKey key) {
  return buckets_of(context, count,
                    [key](const std::string& text) { return sip_hash64(key, text); });
}

Status add_bucket(OpRegistry& ops, std::string name, std::string doc, const std::string& input,
                  const std::string& more, KernelFactory cpu, std::string example) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = input + ": string -> output: int64 | num_buckets: int >= 1" + more,
      .infer = infer::same_as_input,
      .cpu = std::move(cpu),
      .not_differentiable = "strings have no gradient",
      .examples = {std::move(example)},
  });
}

}  // namespace

Status register_buckets(OpRegistry& ops) {
  MR_TRY(add_bucket(ops, "StringToHashBucket",
                    "Which of num_buckets each string falls into, by TensorFlow's first hash.",
                    "string_tensor", "", kernel_with(old_buckets, integer("num_buckets")),
                    "['' 'a' 'Hello, TensorFlow'] -> [142163811899 825286642172 719925669799] | "
                    "num_buckets = 1099511627776"));
  MR_TRY(add_bucket(ops, "StringToHashBucketFast",
                    "Which of num_buckets each string falls into, by FarmHash's fingerprint.",
                    "input", "", kernel_with(fast_buckets, integer("num_buckets")),
                    "['' 'a' 'Hello, TensorFlow'] -> [254201053263 436859794915 813287722898] | "
                    "num_buckets = 1099511627776"));
  return add_bucket(ops, "StringToHashBucketStrong",
                    "Which of num_buckets each string falls into, by SipHash under a key.", "input",
                    ", key: list(int)",
                    kernel_with(strong_buckets, integer("num_buckets"), BoundKey()),
                    "['' 'a' 'Hello, TensorFlow'] -> [1014134345198 1017933744300 39316341877] | "
                    "num_buckets = 1099511627776, key = {123, 456}");
}

}  // namespace millrace

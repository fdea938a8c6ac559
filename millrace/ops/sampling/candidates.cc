// Part of families.h: register_candidates.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/line_reader.h"
#include "millrace/op/bind.h"
#include "millrace/op/blocking.h"
#include "millrace/op/infer.h"
#include "millrace/ops/loops/philox_blocks.h"
#include "millrace/ops/sampling/families.h"
#include "millrace/ops/sampling/range_sampler.h"

namespace millrace {
namespace {

// More than any vocabulary has, and little enough to be kept.
constexpr int64_t kMostWords = int64_t{1} << 28;

// Weights of words, which a file or an attribute gives.
struct Unigrams {
  std::string file;
  std::vector<float> given;
  float distortion = 1;
  int64_t reserved = 0, shards = 1, shard = 0;
  int64_t range = 0;

  // `files` may be null for weights that are given.
  Result<std::unique_ptr<RangeSampler>> load(Files* files) const {
    // A number that an attribute claims is no reason to take memory.
    const int64_t most = file.empty() ? static_cast<int64_t>(given.size()) : kMostWords;
    if (reserved / shards > range || range - reserved / shards > most + 1 || range > kMostWords) {
      return invalid("range_max is ", range, ", but ", reserved, " reserved ids and ",
                     file.empty() ? str_cat(most, " weights were given")
                                  : str_cat("at most ", kMostWords, " words are possible"));
    }
    std::vector<float> weights;
    float total = 0;
    int64_t word = 0;
    const auto is_ours = [&] { return word % shards == shard; };
    for (; word < reserved && static_cast<int64_t>(weights.size()) <= range; ++word) {
      if (is_ours()) weights.push_back(0);
    }
    // As TensorFlow counts: on from the reserved words that are this shard's.
    word = static_cast<int64_t>(weights.size());
    const auto add = [&](float weight) {
      weights.push_back(std::pow(weight, distortion));
      total += weights.back();
    };
    if (file.empty()) {
      for (const float weight : given) {
        if (is_ours()) add(weight);
        ++word;
      }
    } else {
      if (files == nullptr) return failed_precondition(file, "; this device has no files");
      MR_ASSIGN(auto opened, files->open(file));
      io::LineReader lines(std::move(opened));
      std::string line;
      for (; static_cast<int64_t>(weights.size()) <= range; ++word) {
        MR_ASSIGN(const bool has_line, lines.next(&line).with(file));
        if (!has_line) break;
        if (!is_ours()) continue;
        float weight = 0;
        // The last of the columns, which commas part.
        if (!absl::SimpleAtof(line.substr(line.rfind(',') + 1), &weight))
          return invalid("Wrong vocabulary format at line: ", line);
        add(weight);
      }
    }
    if (static_cast<int64_t>(weights.size()) != range) {
      return invalid(
          "range_max is ", range, ", but ",
          static_cast<int64_t>(weights.size()) > range ? "more than that" : "only ",
          static_cast<int64_t>(weights.size()) > range ? std::string() : str_cat(weights.size()),
          " weights were given, reserved ids included");
    }
    for (const float weight : weights) {
      if (!(weight >= 0) || std::isinf(weight))
        return invalid("the weights must be finite and not negative, but one is ", weight);
    }
    if (!(total > 0) || std::isinf(total))
      return invalid("the weights must sum up to a positive number, not ", total);
    return weighted_sampler(std::move(weights), total);
  }
};

Status check_classes(std::span<const int64_t> classes, int64_t range) {
  for (const int64_t each : classes) {
    if (each < 0 || each >= range) return invalid("class ", each, " is not in [0, ", range, ")");
  }
  return {};
}

struct SamplerNode {
  int64_t num_true = 0, num_sampled = 0;
  bool unique = false;
};

class SampleKernel final : public Kernel {
 public:
  // Without a sampler it is made from the unigrams, when it is first needed.
  SampleKernel(SamplerNode node, std::unique_ptr<PhiloxStream> bits,
               std::unique_ptr<RangeSampler> sampler, Unigrams unigrams)
      : node_(node),
        unigrams_(std::move(unigrams)),
        is_from_file_(sampler == nullptr),
        bits_(std::move(bits)),
        shared_(std::make_shared<Shared>()) {
    shared_->sampler = std::move(sampler);
  }

  bool is_async() const override { return is_from_file_; }
  Status run(KernelContext& context) override { return draw(context); }
  void start(KernelContext& context, Done<void> done) override {
    if (sampler() != nullptr) return done(draw(context));
    run_blocking(
        context,
        [shared = shared_, unigrams = unigrams_, files = context.step().device->files] {
          return shared->load(unigrams, files);
        },
        Done<void>([this, &context, done = std::move(done)](Status loaded) mutable {
          done(loaded.ok() ? draw(context) : std::move(loaded));
        }));
  }

 private:
  // What reading a file may outlive the kernel with.
  struct Shared {
    // Not under the lock, which nobody may hold while the disk makes it wait. Of steps that load at
    // the same time the first one's sampler stays; weights that are given learn nothing.
    Status load(const Unigrams& unigrams, Files* files) {
      MR_ASSIGN(std::unique_ptr<RangeSampler> loaded, unigrams.load(files));
      MutexLock lock(mutex);
      if (sampler == nullptr) sampler = std::move(loaded);
      return {};
    }
    Mutex mutex;
    std::shared_ptr<RangeSampler> sampler MR_GUARDED_BY(mutex);
  };

  Status draw(KernelContext& context) {
    const Tensor& classes = context.input(0);
    if (classes.shape().rank() != 2) return invalid("true_classes must be a matrix");
    if (classes.shape().dim(1) != node_.num_true) {
      return invalid("true_classes must have num_true columns, expected: ", classes.shape().dim(1),
                     " was: ", node_.num_true);
    }
    MR_ASSIGN(Tensor values, Tensor::allocate(DType::i64, {node_.num_sampled}));
    MR_ASSIGN(Tensor classes_expected, Tensor::allocate(DType::f32, classes.shape()));
    MR_ASSIGN(Tensor expected, Tensor::allocate(DType::f32, {node_.num_sampled}));
    const SampledBatch batch{values.mutable_flat<int64_t>(), expected.mutable_flat<float>(),
                             classes.flat<int64_t>(), classes_expected.mutable_flat<float>()};
    const auto sampler = this->sampler();
    // So many for each run that one in which draws are repeated rarely reaches those of the next.
    const Philox bits(bits_->reserve(static_cast<uint64_t>(node_.num_sampled) * (2048 / 4)));
    CancelProbe probe(context);
    MR_TRY(sample(*sampler, node_.unique, bits, batch, probe));
    MR_TRY(check_classes(batch.classes, sampler->range()));
    MR_TRY(sampler->learn(batch.classes));
    context.set_output(0, std::move(values));
    context.set_output(1, std::move(classes_expected));
    context.set_output(2, std::move(expected));
    return {};
  }

  std::shared_ptr<RangeSampler> sampler() {
    MutexLock lock(shared_->mutex);
    return shared_->sampler;
  }

  const SamplerNode node_;
  const Unigrams unigrams_;
  const bool is_from_file_;
  const std::unique_ptr<PhiloxStream> bits_;
  const std::shared_ptr<Shared> shared_;
};

Result<SamplerNode> node_of(const KernelSpec& spec) {
  SamplerNode node;
  MR_ASSIGN(node.num_true, spec.attrs.integer("num_true"));
  MR_ASSIGN(node.num_sampled, spec.attrs.integer("num_sampled"));
  MR_ASSIGN(node.unique, spec.attrs.boolean("unique"));
  return node;
}

using MakeSampler = Result<std::unique_ptr<RangeSampler>> (*)(int64_t range);

KernelFactory sampling(MakeSampler make) {
  return [make](const KernelSpec& spec) -> Result<std::unique_ptr<Kernel>> {
    MR_ASSIGN(const SamplerNode node, node_of(spec));
    MR_ASSIGN(const int64_t range, spec.attrs.integer("range_max"));
    MR_ASSIGN(auto bits, PhiloxStream::create(spec.attrs, spec.random));
    MR_ASSIGN(std::unique_ptr<RangeSampler> sampler, make(range));
    return std::unique_ptr<Kernel>(
        std::make_unique<SampleKernel>(node, std::move(bits), std::move(sampler), Unigrams()));
  };
}

Result<std::unique_ptr<Kernel>> make_fixed(const KernelSpec& spec) {
  MR_ASSIGN(const SamplerNode node, node_of(spec));
  MR_ASSIGN(auto bits, PhiloxStream::create(spec.attrs, spec.random));
  Unigrams unigrams;
  MR_ASSIGN(unigrams.file, spec.attrs.string("vocab_file"));
  if (const AttrValue* given = spec.attrs.find("unigrams")) {
    if (const auto* reals = given->as_list_of<float>())
      unigrams.given = {reals->begin(), reals->end()};
  }
  MR_ASSIGN(unigrams.distortion, spec.attrs.real("distortion"));
  MR_ASSIGN(unigrams.reserved, spec.attrs.integer("num_reserved_ids"));
  unigrams.reserved = std::max<int64_t>(unigrams.reserved, 0);
  MR_ASSIGN(unigrams.shards, spec.attrs.integer("num_shards"));
  MR_ASSIGN(unigrams.shard, spec.attrs.integer("shard"));
  MR_ASSIGN(unigrams.range, spec.attrs.integer("range_max"));
  if (unigrams.shard >= unigrams.shards)
    return invalid("shard ", unigrams.shard, " must be less than num_shards ", unigrams.shards);
  if (unigrams.file.empty() == unigrams.given.empty())
    return invalid("Must provide either vocab_file or unigrams, and not both, at '", spec.node_name,
                   "'");
  std::unique_ptr<RangeSampler> sampler;
  if (unigrams.file.empty()) {
    MR_ASSIGN(sampler, unigrams.load(nullptr));
  }
  return std::unique_ptr<Kernel>(std::make_unique<SampleKernel>(
      node, std::move(bits), std::move(sampler), std::move(unigrams)));
}

Status sample_all(KernelContext& context, int64_t num_true, int64_t count) {
  const Tensor& classes = context.input(0);
  if (classes.shape().rank() != 2) return invalid("true_classes must be a matrix");
  if (classes.shape().dim(1) != num_true) {
    return invalid("true_classes must have num_true columns, expected: ", classes.shape().dim(1),
                   " was: ", num_true);
  }
  MR_TRY(check_classes(classes.flat<int64_t>(), count));
  MR_ASSIGN(Tensor values, Tensor::allocate(DType::i64, {count}));
  MR_ASSIGN(Tensor classes_expected, Tensor::allocate(DType::f32, classes.shape()));
  MR_ASSIGN(Tensor expected, Tensor::allocate(DType::f32, {count}));
  int64_t next = 0;
  for (int64_t& value : values.mutable_flat<int64_t>()) value = next++;
  std::ranges::fill(classes_expected.mutable_flat<float>(), 1.f);
  std::ranges::fill(expected.mutable_flat<float>(), 1.f);
  context.set_output(0, std::move(values));
  context.set_output(1, std::move(classes_expected));
  context.set_output(2, std::move(expected));
  return {};
}

Status infer_candidates(InferContext& context) {
  MR_ASSIGN(const PartialShape classes, context.input_of_rank(0, 2));
  MR_ASSIGN(const int64_t num_sampled, context.attrs().integer("num_sampled"));
  MR_ASSIGN(const int64_t num_true, context.attrs().integer("num_true"));
  context.set_output(0, PartialShape{num_sampled});
  context.set_output(2, PartialShape{num_sampled});
  return context.set_output(1, PartialShape::create(Shape::Dims{classes.dim(0), num_true}));
}

// --- ComputeAccidentalHits ---

Status accidental_hits(KernelContext& context, int64_t num_true) {
  const Tensor& classes = context.input(0);
  const Tensor& candidates = context.input(1);
  if (classes.shape().rank() != 2 || classes.shape().dim(1) != num_true) {
    return invalid("true_classes must be a batch_size * num_true matrix; its shape is ",
                   classes.shape().to_string(), ", num_true is ", num_true);
  }
  if (candidates.shape().rank() != 1) {
    return invalid(
        "sampled_candidates must be a vector, which is typically an output from "
        "CandidateSampler");
  }
  absl::flat_hash_map<int64_t, int64_t> places;
  const auto drawn = candidates.flat<int64_t>();
  for (size_t i = 0; i < drawn.size(); ++i) places[drawn[i]] = static_cast<int64_t>(i);
  std::vector<int32_t> rows;
  std::vector<int64_t> ids;
  const auto all = classes.flat<int64_t>();
  CancelProbe probe(context);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!probe.go_on(1)) return probe.status();
    const auto found = places.find(all[i]);
    if (found == places.end()) continue;
    rows.push_back(static_cast<int32_t>(static_cast<int64_t>(i) / num_true));
    ids.push_back(found->second);
  }
  const std::vector<float> weights(ids.size(), -std::numeric_limits<float>::max());
  context.set_output(0, Tensor::vector<int32_t>(std::span<const int32_t>(rows)));
  context.set_output(1, Tensor::vector<int64_t>(std::span<const int64_t>(ids)));
  context.set_output(2, Tensor::vector<float>(std::span<const float>(weights)));
  return {};
}

Status infer_hits(InferContext& context) {
  MR_TRY(context.input_of_rank(0, 2));
  MR_TRY(context.input_of_rank(1, 1));
  for (int slot = 0; slot < 3; ++slot) context.set_output(slot, PartialShape::of_rank(1));
  return {};
}

constexpr std::string_view kNoGradient = "its result is classes and how often they are expected";

Status add_sampler(OpRegistry& ops, std::string name, std::string doc, const std::string& attrs,
                   KernelFactory cpu) {
  return ops.add({
      .name = std::move(name),
      .doc = std::move(doc),
      .signature = "true_classes: int64 -> sampled_candidates: int64, true_expected_count: float, "
                   "sampled_expected_count: float | num_true: int >= 1, num_sampled: int >= 1, "
                   "unique: bool, " +
                   attrs + "seed: int = 0, seed2: int = 0",
      .infer = infer_candidates,
      .cpu = std::move(cpu),
      .not_differentiable = std::string(kNoGradient),
      .stateful = true,
      .foldable = false,
  });
}

}  // namespace

Status register_candidates(OpRegistry& ops) {
  const std::string range = "range_max: int >= 1, ";
  MR_TRY(add_sampler(ops, "UniformCandidateSampler", "Draws classes, each as likely as others.",
                     range, sampling([](int64_t n) -> Result<std::unique_ptr<RangeSampler>> {
                       return uniform_sampler(n);
                     })));
  MR_TRY(add_sampler(ops, "LogUniformCandidateSampler",
                     "Draws classes that are in order of how frequent they are: class i with "
                     "probability log((i + 2) / (i + 1)) / log(range_max + 1).",
                     range, sampling([](int64_t n) -> Result<std::unique_ptr<RangeSampler>> {
                       return log_uniform_sampler(n);
                     })));
  MR_TRY(add_sampler(ops, "LearnedUnigramCandidateSampler",
                     "Draws classes as often as the true classes of earlier runs had them.", range,
                     sampling(learned_sampler)));
  MR_TRY(add_sampler(ops, "ThreadUnsafeUnigramCandidateSampler",
                     "As LearnedUnigramCandidateSampler, and as safe here.", range,
                     sampling(learned_sampler)));
  MR_TRY(add_sampler(ops, "FixedUnigramCandidateSampler",
                     "Draws classes by weights out of a file or of an attribute.",
                     range + "vocab_file: string = '', distortion: float = 1, "
                             "num_reserved_ids: int = 0, num_shards: int >= 1 = 1, "
                             "shard: int >= 0 = 0, unigrams: list(float) = {}, ",
                     make_fixed));
  MR_TRY(add_sampler(ops, "AllCandidateSampler", "All classes, in order, instead of some.", "",
                     kernel_with(sample_all, integer("num_true"), integer("num_sampled"))));
  return ops.add({
      .name = "ComputeAccidentalHits",
      .doc = "Where sampled candidates are true classes: the row, which candidate it is, and a "
             "weight by which such a logit becomes as small as can be.",
      .signature = "true_classes: int64, sampled_candidates: int64 -> indices: int32, ids: int64, "
                   "weights: float | num_true: int, seed: int = 0, seed2: int = 0",
      .infer = infer_hits,
      .cpu = kernel_with(accidental_hits, integer("num_true")),
      .not_differentiable = std::string(kNoGradient),
      .examples = {"[[0 1] [2 5]], [5 1] -> [0 1], [1 0], [-3.4028234663852886e38 "
                   "-3.4028234663852886e38] | num_true = 2",
                   "[[0 1] [2 5]], [7 8] -> [], [], [] | num_true = 2"},
  });
}

}  // namespace millrace

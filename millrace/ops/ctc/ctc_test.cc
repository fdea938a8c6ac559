// CTC beside its examples: small cases that can be counted by hand, slopes, and what is refused.
#include <cmath>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "millrace/op/registry.h"
#include "millrace/ops/ctc/beam.h"
#include "millrace/ops/ctc/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& ctc_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_ctc(*made).ok());
    return made;
  }();
  return *kOps;
}

using Labels = std::vector<int32_t>;

// What classes spell: runs merged, the last class taken out.
Labels spelled_by(const Labels& classes, int32_t blank) {
  Labels made;
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != blank && (i == 0 || classes[i] != classes[i - 1])) made.push_back(classes[i]);
  }
  return made;
}

// The probability of every list of labels, by going through all ways to spell them.
std::map<Labels, double> all_spellings(const Tensor& logits) {
  const int64_t steps = logits.shape().dim(0), classes = logits.shape().dim(2);
  const auto all = logits.flat<double>();
  std::map<Labels, double> chances;
  Labels way(static_cast<size_t>(steps));
  const std::function<void(int64_t, double)> walk = [&](int64_t t, double chance) {
    if (t == steps) {
      chances[spelled_by(way, static_cast<int32_t>(classes - 1))] += chance;
      return;
    }
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(all[t * classes + c]);
    for (int64_t c = 0; c < classes; ++c) {
      way[static_cast<size_t>(t)] = static_cast<int32_t>(c);
      walk(t + 1, chance * std::exp(all[t * classes + c]) / sum);
    }
  };
  walk(0, 1);
  return chances;
}

Tensor logits_of(int64_t steps, int64_t classes) {
  Tensor made = *Tensor::allocate(DType::f64, {steps, 1, classes});
  double angle = 0;
  for (double& logit : made.mutable_flat<double>()) logit = 2 * std::sin(angle += 1.7);
  return made;
}

struct Spelling {
  Tensor indices, values;
};

Spelling spelling(const Labels& labels) {
  const auto number = static_cast<int64_t>(labels.size());
  Tensor indices = *Tensor::zeros(DType::i64, {number, 2});
  for (int64_t i = 0; i < number; ++i) indices.mutable_flat<int64_t>()[2 * i + 1] = i;
  return {indices, Tensor::vector<int32_t>(labels)};
}

double loss_of(const Tensor& logits, const Labels& labels) {
  const auto [indices, values] = spelling(labels);
  const Tensor length = Tensor::vector<int32_t>({static_cast<int32_t>(logits.shape().dim(0))});
  const auto made = run_op(ctc_ops(), "CTCLoss", {logits, indices, values, length});
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return (*made)[0].item<double>();
}

TEST_CASE("a loss is what going through all ways to spell the labels gives") {
  const Tensor logits = logits_of(5, 4);
  const auto chances = all_spellings(logits);
  for (const Labels& labels : {Labels{0}, {1, 2}, {2, 2}, {0, 1, 0}, {1, 1, 1}, {0, 1, 2, 0, 1}}) {
    CAPTURE(labels.size());
    CHECK(loss_of(logits, labels) == doctest::Approx(-std::log(chances.at(labels))));
  }
  CHECK(std::isinf(loss_of(logits, {1, 1, 1, 1})));  // which takes seven steps
}

TEST_CASE("the slopes of a loss are its differences") {
  const Tensor logits = logits_of(4, 3);
  const auto [indices, values] = spelling({0, 1});
  const Tensor length = Tensor::vector<int32_t>({4});
  const auto made = run_op(ctc_ops(), "CTCLoss", {logits, indices, values, length});
  REQUIRE(made.ok());
  for (size_t i = 0; i < 12; ++i) {
    Tensor above = *logits.clone(), below = *logits.clone();
    above.mutable_flat<double>()[i] += 1e-5;
    below.mutable_flat<double>()[i] -= 1e-5;
    const double expected = (loss_of(above, {0, 1}) - loss_of(below, {0, 1})) / 2e-5;
    CHECK((*made)[1].flat<double>()[i] == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("the first class is the blank of the second form") {
  const Tensor logits = Tensor::of<float>({2, 1, 3}, {1, 2, 0, 3, 1, 2});
  const Tensor moved = Tensor::of<float>({2, 1, 3}, {2, 0, 1, 1, 2, 3});
  const auto [indices, values] = spelling({0});
  const Tensor length = Tensor::vector<int32_t>({2});
  const auto last = run_op(ctc_ops(), "CTCLoss", {moved, indices, values, length});
  const auto first =
      run_op(ctc_ops(), "CTCLossV2", {logits, indices, Tensor::vector<int32_t>({1}), length});
  REQUIRE(last.ok());
  REQUIRE(first.ok());
  CHECK((*first)[0].item<float>() == doctest::Approx((*last)[0].item<float>()));
}

TEST_CASE("a beam that is wide enough finds the most probable lists and their probabilities") {
  const Tensor logits = logits_of(5, 4);
  std::vector<std::pair<double, Labels>> expected;
  for (const auto& [labels, chance] : all_spellings(logits)) expected.push_back({chance, labels});
  std::ranges::sort(expected, std::greater());
  CtcBeam<double> beam(4, 1000);
  CancelProbe probe;
  for (size_t t = 0; t < 5; ++t)
    REQUIRE(beam.step(logits.flat<double>().subspan(4 * t, 4), probe).ok());
  const auto best = beam.best(20, Runs::kept);
  REQUIRE(best.ok());
  for (size_t i = 0; i < best->size(); ++i) {
    CAPTURE(i);
    CHECK((*best)[i].labels == expected[i].second);
    CHECK((*best)[i].log_probability == doctest::Approx(std::log(expected[i].first)));
  }
}

TEST_CASE("a narrow beam goes on for many steps, over logits of any kind") {
  const double none = -std::numeric_limits<double>::infinity();
  CtcBeam<double> beam(3, 2);
  CancelProbe probe;
  for (int t = 0; t < 2000; ++t) {
    const double x = std::sin(t * 0.7);
    const std::vector<double> logits = {x, t % 5 == 0 ? none : -x, t % 7 == 0 ? none : 0.1};
    REQUIRE(beam.step(logits, probe).ok());
  }
  const auto best = beam.best(2, Runs::merged);
  REQUIRE(best.ok());
  CHECK((*best)[0].log_probability >= (*best)[1].log_probability);
  REQUIRE(beam.step(std::vector<double>{NAN, none, INFINITY}, probe).ok());
  REQUIRE(beam.step(std::vector<double>{1, 2, 3}, probe).ok());
  CHECK(beam.best(1, Runs::kept).ok());
}

std::string refusal_of(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  const auto made = run_op(ctc_ops(), op, std::move(inputs), std::move(attrs));
  return made.ok() ? "it ran" : std::string(made.status().message());
}

bool says(const std::string& message, std::string_view words) {
  CAPTURE(message);
  return message.find(words) != std::string::npos;
}

TEST_CASE("labels, lengths and logits that do not belong together are refused") {
  const Tensor logits = *Tensor::zeros(DType::f32, {3, 1, 3});
  const auto loss = [](const Tensor& inputs, const Tensor& indices, const Tensor& values,
                       std::initializer_list<int32_t> lengths) {
    return refusal_of("CTCLoss", {inputs, indices, values, Tensor::vector<int32_t>(lengths)});
  };
  const auto of_label = [&](int32_t label) {
    return loss(logits, *Tensor::zeros(DType::i64, {1, 2}), Tensor::vector<int32_t>({label}), {3});
  };
  CHECK(of_label(1) == "it ran");
  CHECK(of_label(7) == "it ran");  // no label at all
  CHECK(says(of_label(-1), "All labels must be nonnegative integers"));
  const Tensor one = Tensor::vector<int32_t>({1}), place = *Tensor::zeros(DType::i64, {1, 2});
  CHECK(says(loss(logits, place, one, {4}), "sequence_length(0) = 4 is not in [0, 3]"));
  CHECK(says(loss(logits, place, one, {-1}), "sequence_length(0) = -1 is not in [0, 3]"));
  CHECK(says(loss(logits, place, one, {0}), "Not enough time for target transition sequence"));
  CHECK(says(loss(logits, place, one, {3, 3}), "len(sequence_length) != batch_size"));
  CHECK(says(loss(*Tensor::zeros(DType::f32, {3, 0, 3}), place, one, {}),
             "batch_size must not be 0"));
  CHECK(says(loss(*Tensor::zeros(DType::f32, {3, 1, 0}), place, one, {3}), "there are no classes"));
  CHECK(says(loss(logits, Tensor::of<int64_t>({1, 2}, {1, 0}), one, {3}), "is out of bounds"));
  CHECK(says(loss(logits, Tensor::of<int64_t>({1, 1}, {0}), one, {3}), "2 columns, not 1"));
  const Tensor two = Tensor::vector<int32_t>({2, 1});
  CHECK(says(loss(logits, Tensor::of<int64_t>({2, 2}, {0, 1, 0, 0}), two, {3}), "is out of order"));
  CHECK(says(loss(logits, Tensor::of<int64_t>({2, 2}, {0, 1, 0, 1}), two, {3}), "is repeated"));
  CHECK(says(loss(logits, Tensor::of<int64_t>({2, 2}, {0, 0, 0, 1}), two, {3}),
             "Saw a non-null label"));
  CHECK(says(loss(logits, *Tensor::zeros(DType::i64, {0, 2}), *Tensor::zeros(DType::i32, {0}), {3}),
             "Labels length is zero in batch 0"));
}

TEST_CASE("decoders refuse what they can not read, and more paths than there are") {
  const Tensor logits = *Tensor::zeros(DType::f32, {1, 1, 3});
  const auto beam = [&](const Tensor& inputs, std::initializer_list<int32_t> lengths, int64_t top) {
    return refusal_of("CTCBeamSearchDecoder", {inputs, Tensor::vector<int32_t>(lengths)},
                      {{"beam_width", int64_t{3}}, {"top_paths", top}});
  };
  CHECK(beam(logits, {1}, 3) == "it ran");
  CHECK(beam(logits, {-3}, 1) == "it ran");
  CHECK(says(beam(logits, {0}, 2), "Less leaves in the beam search than requested"));
  CHECK(says(beam(logits, {1}, 4), "requested more paths than the beam width"));
  CHECK(says(beam(logits, {2}, 1), "sequence_length(0) = 2 must be <= 1"));
  CHECK(says(beam(logits, {1, 1}, 1), "len(sequence_length) != batch_size"));
  CHECK(says(beam(*Tensor::zeros(DType::f32, {1, 1, 0}), {1}, 1), "inputs must not be empty"));
  CHECK(says(refusal_of("CTCGreedyDecoder", {logits, Tensor::vector<int32_t>({1})},
                        {{"blank_index", int64_t{-4}}}),
             "blank_index expected to be between -3 and 2 but was -4"));
}

TEST_CASE("a beam without bounds ends in words") {
  CtcBeam<float> beam(100, int64_t{1} << 40, 1000);
  CancelProbe probe;
  const std::vector<float> logits(100, 0.f);
  REQUIRE(beam.step(logits, probe).ok());
  CHECK(beam.step(logits, probe).code() == Code::resource_exhausted);
}

}  // namespace
}  // namespace millrace

// Finds out from their neighbours which words are alike (skip-gram, noise-contrastive estimation).
//
//   build/bin/09_word2vec
#include <millrace/millrace.h>

#include "cluster_task.h"
#include "numbers.h"

using namespace millrace;

// Sentences in which animals do what animals do, and fruits what fruits do.
const std::vector<std::string> kWords = {
    "the",    "a",    "is",     "cat",  "dog",    "horse", "cow",  "apple", "pear",  "plum",
    "cherry", "runs", "sleeps", "eats", "drinks", "sweet", "ripe", "green", "peeled"};
constexpr int kIs = 2, kAnimals = 3, kFruits = 7, kDo = 11, kAre = 15;

// Words, and words at most two places from them.
std::vector<std::pair<int64_t, int64_t>> pairs_of_sentences(Numbers& random) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto any = [&](int64_t kind) { return kind + random.below(4); };
  for (int made = 0; made < 2000; ++made) {
    std::vector<int64_t> words = {random.below(2), any(kAnimals), any(kDo)};
    if (made % 2 == 1) words = {random.below(2), any(kFruits), kIs, any(kAre)};
    for (size_t a = 0; a < words.size(); ++a)
      for (size_t b = 0; b < words.size(); ++b)
        if (a != b && a < b + 3 && b < a + 3) pairs.emplace_back(words[a], words[b]);
  }
  return pairs;
}

Status find_words_alike(const Replica& replica) {
  const auto number = int64_t(kWords.size());
  GraphBuilder graph(*standard_ops());
  const VariableScope model(replica.place(graph.root()));
  const Output centre = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Output near = ops::placeholder(model, DType::i64, {.shape = PartialShape{-1}});
  const Variable table = model.get_variable(
      "table", {number, 16}, {.initializer = initializers::random_uniform(-1, 1, 1)});
  const Variable weights = model.get_variable(
      "weights", {number, 16}, {.initializer = initializers::truncated_normal(0, 0.25, 2)});
  const Variable biases = model.variable("biases", std::vector<double>(kWords.size()));
  const Output losses =
      nce_loss(model, weights, biases, ops::expand_dims(model, near, 1),
               embedding_lookup(model, table, centre), {.num_sampled = 8, .seed = 3});
  const Output loss = reduce_mean(model, losses);
  const Operation train = AdagradOptimizer(0.5).minimize(model, loss);
  const Output squares = ops::sum(model, ops::square(model, table), 1, {.keep_dims = true});
  const Output unit = ops::mul(model, table, ops::rsqrt(model, squares));
  const auto nearest =  // and first of all itself
      ops::top_k(model, ops::mat_mul(model, unit, unit, {.transpose_b = true}), 4);
  const FirstValues first(model);

  MR_ASSIGN(const auto session, replica.session(graph, first));
  Numbers random(0);
  const auto pairs = pairs_of_sentences(random);
  for (int step = 1; step <= 1500; ++step) {
    std::vector<int64_t> centres(128), others(128);
    for (size_t row = 0; row < 128; ++row)
      std::tie(centres[row], others[row]) = pairs[size_t(random.below(uint32_t(pairs.size())))];
    MR_ASSIGN(const auto values, session->run({{centre.name(), Tensor::vector<int64_t>(centres)},
                                               {near.name(), Tensor::vector<int64_t>(others)}},
                                              {loss.name()}, {.targets = {train.name()}}));
    if (step % 500 == 0) std::printf("step %d loss %.3f\n", step, values[0].item<float>());
  }
  MR_ASSIGN(const auto found, session->run({}, {nearest.indices.name()}));
  for (const size_t word : {kAnimals, kFruits, kDo, kAre}) {
    std::string line = kWords[word] + ":";
    for (const int32_t other : found[0].flat<int32_t>().subspan(word * 4 + 1, 3))
      line += " " + kWords[size_t(other)];
    std::puts(line.c_str());
  }
  return {};
}

int main() { return alone(find_words_alike); }

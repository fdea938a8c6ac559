// Learns the letters of a text, one after the other, and goes on writing it.
//
//   build/bin/08_lstm_text
#include <millrace/millrace.h>

#include <set>

#include "cluster_task.h"
#include "numbers.h"

using namespace millrace;

const std::string kLine =
    "the river turns the wheel, the wheel turns the stone, the stone grinds the corn. ";
constexpr int kRepeats = 8, kBatch = 8, kSteps = 24, kUnits = 64;

Tensor matrix(int rows, const std::vector<int32_t>& codes) {
  const auto columns = static_cast<int64_t>(codes.size()) / rows;
  return Tensor::vector<int32_t>(codes).reshaped({rows, columns}).value();
}

Status go_on_writing(const Replica& replica) {
  const std::set<char> distinct(kLine.begin(), kLine.end());
  const std::string alphabet(distinct.begin(), distinct.end());
  std::vector<int32_t> codes;
  for (int repeat = 0; repeat < kRepeats; ++repeat)
    for (const char letter : kLine) codes.push_back(int(alphabet.find(letter)));

  GraphBuilder graph(*standard_ops());
  const VariableScope model(replica.place(graph.root()));
  const Output letters = ops::placeholder(model, DType::i32, {.shape = PartialShape{-1, -1}});
  const Output following = ops::placeholder(model, DType::i32, {.shape = PartialShape{-1, -1}});
  const Lstm lstm =
      layers::lstm(model, ops::one_hot(model, letters, int(alphabet.size()), 1.0, 0.0), kUnits,
                   {.kernel_initializer = initializers::glorot_uniform(8)});
  const Output logits = layers::dense(model, lstm.outputs, int(alphabet.size()),
                                      {.kernel_initializer = initializers::glorot_uniform(9)});
  const Output loss = losses::sparse_softmax_cross_entropy(model, following, logits);
  const Operation train = AdamOptimizer(0.02).minimize(model, loss);
  const Output best = ops::arg_max(model, logits, 2);
  const FirstValues first(model);

  MR_ASSIGN(const auto session, replica.session(graph, first));
  Numbers random(0);
  for (int step = 1; step <= 150; ++step) {
    std::vector<int32_t> read, wanted;
    for (int row = 0; row < kBatch; ++row) {
      const auto start = codes.begin() + random.below(int(codes.size()) - kSteps - 1);
      read.insert(read.end(), start, start + kSteps);
      wanted.insert(wanted.end(), start + 1, start + kSteps + 1);
    }
    MR_ASSIGN(const auto values, session->run({{letters.name(), matrix(kBatch, read)},
                                               {following.name(), matrix(kBatch, wanted)}},
                                              {loss.name()}, {.targets = {train.name()}}));
    if (step % 50 == 0) std::printf("step %d loss %.3f\n", step, values[0].item<float>());
  }
  std::string written = "the river";
  std::vector<int32_t> unread;
  for (const char letter : written) unread.push_back(int(alphabet.find(letter)));
  Session::Feeds state;
  for (int letter = 0; letter < 60; ++letter) {
    Session::Feeds feeds = state;
    feeds.push_back({letters.name(), matrix(1, unread)});
    MR_ASSIGN(const auto values, session->run(feeds, {best.name(), lstm.after.memory.name(),
                                                      lstm.after.output.name()}));
    unread = {int32_t(values[0].flat<int64_t>().back())};
    written += alphabet[size_t(unread[0])];
    state = {{lstm.before.memory.name(), values[1]}, {lstm.before.output.name(), values[2]}};
  }
  std::printf("%s\n", written.c_str());
  return {};
}

int main() { return alone(go_on_writing); }

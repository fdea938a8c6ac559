// Cells of recurrent nets: steps and blocks agree, gradients are slopes, and what does not fit is
// refused. Values are in the examples.
#include <cmath>

#include "doctest/doctest.h"

#include "millrace/op/infer.h"
#include "millrace/ops/recurrent/families.h"
#include "millrace/ops/testing/op_bench.h"

namespace millrace {
namespace {

const OpRegistry& cell_ops() {
  static const OpRegistry* const kOps = [] {
    auto* made = new OpRegistry;
    REQUIRE(register_recurrent(*made).ok());
    return made;
  }();
  return *kOps;
}

// Numbers that look arbitrary and are the same each time.
Tensor filled(const Shape& shape, double seed) {
  Tensor made = *Tensor::zeros(DType::f32, shape);
  double at = seed;
  for (float& value : made.mutable_flat<float>()) value = static_cast<float>(std::sin(at += 1.7));
  return made;
}

std::vector<Tensor> run(std::string_view op, std::vector<Tensor> inputs, Attrs attrs) {
  auto made = run_op(cell_ops(), op, std::move(inputs), std::move(attrs));
  REQUIRE_MESSAGE(made.ok(), made.status().to_string());
  return *made;
}

constexpr int64_t kTime = 4, kBatch = 3, kInput = 2, kCell = 5;

// cs_prev, h_prev, w, wci, wcf, wco, b.
std::vector<Tensor> state_and_weights() {
  return {filled({kBatch, kCell}, 1),
          filled({kBatch, kCell}, 2),
          filled({kInput + kCell, 4 * kCell}, 3),
          filled({kCell}, 4),
          filled({kCell}, 5),
          filled({kCell}, 6),
          filled({4 * kCell}, 7)};
}

std::vector<Tensor> with(std::vector<Tensor> first, const std::vector<Tensor>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

Tensor length(int64_t steps) { return Tensor::scalar(steps); }

bool are_near(const Tensor& a, const Tensor& b) {
  const auto x = a.flat<float>(), y = b.flat<float>();
  if (x.size() != y.size()) return false;
  for (size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x[i] - y[i]) <= 1e-5f)) return false;
  return true;
}

TEST_CASE("a block is one cell after the other, and zeros behind its length") {
  for (const bool has_peepholes : {false, true}) {
    const Attrs attrs = {{"use_peephole", has_peepholes}, {"cell_clip", 0.4f}};
    const Tensor x = filled({kTime, kBatch, kInput}, 0.5);
    std::vector<Tensor> before = state_and_weights();
    const auto block = run("BlockLSTM", with({length(kTime - 1), x}, before), attrs);
    for (int64_t t = 0; t < kTime - 1; ++t) {
      const Tensor step = *x.rows(t, t + 1)->reshaped({kBatch, kInput});
      const auto cell = run("LSTMBlockCell", with({step}, before), attrs);
      for (size_t slot = 0; slot < 7; ++slot) {
        CAPTURE(slot);
        CHECK(are_near(*block[slot].rows(t, t + 1), cell[slot]));
      }
      before[0] = cell[1];
      before[1] = cell[6];
    }
    for (const Tensor& states : block)
      CHECK(are_near(*states.rows(kTime - 1, kTime), *Tensor::zeros(DType::f32, {kBatch, kCell})));
  }
}

// The sum of cs and h, each element weighed by another number.
double weighed(const std::vector<Tensor>& states, const Tensor& cs_weights,
               const Tensor& h_weights) {
  double total = 0;
  for (size_t i = 0; i < states[1].flat<float>().size(); ++i) {
    total += states[1].flat<float>()[i] * cs_weights.flat<float>()[i];
    total += states[6].flat<float>()[i] * h_weights.flat<float>()[i];
  }
  return total;
}

TEST_CASE("the gradient of a block is its slope, by all that goes in") {
  for (const std::string version : {"", "V2"}) {
    for (const bool has_peepholes : {false, true}) {
      CAPTURE(version);
      CAPTURE(has_peepholes);
      const Attrs attrs = {{"use_peephole", has_peepholes}, {"cell_clip", 0.f}};
      std::vector<Tensor> inputs =
          with({length(kTime - 1), filled({kTime, kBatch, kInput}, 0.5)}, state_and_weights());
      const auto states = run("BlockLSTM" + version, inputs, attrs);
      const Tensor of_cs = filled({kTime, kBatch, kCell}, 8),
                   of_h = filled({kTime, kBatch, kCell}, 9);
      const auto grads = run("BlockLSTMGrad" + version, with(with(inputs, states), {of_cs, of_h}),
                             {{"use_peephole", has_peepholes}});
      REQUIRE(grads.size() == 8);
      for (size_t slot = 1; slot < inputs.size(); ++slot) {
        const Tensor original = inputs[slot];
        CHECK(grads[slot - 1].shape() == original.shape());
        for (size_t i = 0; i < original.flat<float>().size(); i += 7) {
          constexpr float kStep = 1e-2f;
          const auto moved = [&](float by) {
            inputs[slot] = *original.clone();
            inputs[slot].mutable_flat<float>()[i] += by;
            return weighed(run("BlockLSTM" + version, inputs, attrs), of_cs, of_h);
          };
          const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
          CAPTURE(slot);
          CAPTURE(i);
          CHECK(std::abs(grads[slot - 1].flat<float>()[i] - slope) <= 2e-3 * (1 + std::abs(slope)));
        }
        inputs[slot] = original;
      }
    }
  }
}

TEST_CASE("what goes back by a cell is what goes back by a block of one step") {
  const Attrs attrs = {{"use_peephole", true}};
  const Tensor x = filled({1, kBatch, kInput}, 0.5);
  const std::vector<Tensor> before = state_and_weights();
  const Tensor of_cs = filled({1, kBatch, kCell}, 8), of_h = filled({1, kBatch, kCell}, 9);
  const std::vector<Tensor> block = with({length(1), x}, before);
  const auto states = run("BlockLSTM", block, attrs);
  const auto back = run("BlockLSTMGrad", with(with(block, states), {of_cs, of_h}), attrs);
  std::vector<Tensor> cell = with({*x.reshaped({kBatch, kInput})}, before);
  for (size_t slot = 0; slot < 6; ++slot) cell.push_back(*states[slot].reshaped({kBatch, kCell}));
  cell.push_back(*of_cs.reshaped({kBatch, kCell}));
  cell.push_back(*of_h.reshaped({kBatch, kCell}));
  const auto made = run("LSTMBlockCellGrad", cell, attrs);
  CHECK(are_near(made[0], back[1]));
  for (size_t slot = 2; slot < 5; ++slot) CHECK(are_near(made[slot], back[slot + 2]));
}

TEST_CASE("no step at all leaves zeros, also of gradients") {
  const Attrs attrs = {{"use_peephole", false}};
  const std::vector<Tensor> inputs =
      with({length(0), *Tensor::zeros(DType::f32, {0, kBatch, kInput})}, state_and_weights());
  const auto states = run("BlockLSTM", inputs, attrs);
  CHECK(states[6].shape() == Shape{0, kBatch, kCell});
  const Tensor nothing = *Tensor::zeros(DType::f32, {0, kBatch, kCell});
  const auto back = run("BlockLSTMGrad", with(with(inputs, states), {nothing, nothing}), attrs);
  CHECK(are_near(back[3], *Tensor::zeros(DType::f32, {kInput + kCell, 4 * kCell})));
}

std::string refused(std::string_view op, std::vector<Tensor> inputs, Attrs attrs = {}) {
  return run_op(cell_ops(), op, std::move(inputs), std::move(attrs)).status().message();
}

TEST_CASE("states and weights that do not fit are refused") {
  const std::vector<Tensor> rest = state_and_weights();
  const Tensor x = filled({kBatch, kInput}, 0);
  const auto cell = [&](size_t slot, Tensor other) {
    std::vector<Tensor> inputs = with({x}, rest);
    inputs[slot] = std::move(other);
    return refused("LSTMBlockCell", std::move(inputs), {{"use_peephole", true}});
  };
  CHECK(cell(0, filled({kInput}, 0)) == "x_tensor must be rank 2 but is rank 1.");
  CHECK(cell(1, filled({kBatch + 1, kCell}, 0)) == "cs_prev.dim_size(0) != batch_size: 4 vs. 3");
  CHECK(cell(2, filled({kBatch, kCell + 1}, 0)) == "h_prev.dim_size(1) != cell_size: 6 vs. 5");
  CHECK(cell(3, filled({kInput, 4 * kCell}, 0)) ==
        "w.dim_size(0) != input_size + cell_size: 2 vs. 7");
  CHECK(cell(3, filled({kInput + kCell, kCell}, 0)) ==
        "w.dim_size(1) != cell_size * 4: 5 vs. 4 * 5");
  CHECK(cell(4, filled({kCell + 1}, 0)) == "wci.dim_size(0) != cell_size: 6 vs. 5");
  CHECK(cell(7, filled({kCell}, 0)) == "b.dim_size(0) != cell_size * 4: 5 vs. 20");
  CHECK(refused("LSTMBlockCell",
                {filled({0, 1}, 0), filled({0, 1}, 0), filled({0, 1}, 0), filled({2, 4}, 0),
                 filled({1}, 0), filled({1}, 0), filled({1}, 0), filled({4}, 0)})
            .starts_with("cs_prev_tensor is empty, has shape: "));
  for (const int64_t steps : {int64_t{-1}, kTime + 1}) {
    CHECK(refused("BlockLSTM", with({length(steps), filled({kTime, kBatch, kInput}, 0)}, rest))
              .starts_with("seq_len_max must be between 0 and 4 but is "));
  }
}

TEST_CASE("gated units of sizes that do not fit are refused") {
  const std::vector<Tensor> fits = {filled({2, 3}, 0), filled({2, 4}, 1), filled({7, 8}, 2),
                                    filled({7, 4}, 3), filled({8}, 4),    filled({4}, 5)};
  REQUIRE(refused("GRUBlockCell", fits).empty());
  const auto unit = [&](size_t slot, Tensor other) {
    std::vector<Tensor> inputs = fits;
    inputs[slot] = std::move(other);
    return refused("GRUBlockCell", std::move(inputs));
  };
  CHECK(unit(1, filled({3, 4}, 0)) == "h_prev.dim_size(0) != batch_size: 3 vs. 2");
  CHECK(unit(2, filled({7, 9}, 0)) == "w_ru.dim_size(1) != cell_size * 2: 9 vs. 2 * 4");
  CHECK(unit(3, filled({6, 4}, 0)) == "w_c.dim_size(0) != input_size + cell_size: 6 vs. 7");
  CHECK(unit(5, filled({5}, 0)) == "b_c.dim_size(0) != cell_size: 5 vs. 4");
}

TEST_CASE("rules refuse sizes that together are more than can be counted") {
  constexpr int64_t kLong = int64_t{1} << 40;
  // Of the input `slot`, whose rank is that of the shape; of the others nothing is known.
  using Known = std::vector<std::pair<size_t, PartialShape>>;
  const auto answer = [](std::string_view name, const Known& known) {
    const OpDef& op = *cell_ops().find(name);
    std::vector<PartialShape> shapes(op.inputs.size());
    for (const auto& [slot, shape] : known) shapes[slot] = shape;
    const Attrs attrs;
    InferContext context({op, attrs}, shapes, {}, static_cast<int>(op.outputs.size()));
    return op.infer(context).message();
  };
  const PartialShape rows{kLong, kUnknownDim}, columns{kUnknownDim, kLong};
  for (const auto& said :
       {answer("LSTMBlockCell", {{0, rows}, {1, columns}}),
        answer("LSTMBlockCellGrad", {{1, PartialShape{kLong, kLong >> 18}}}),
        answer("BlockLSTM", {{1, PartialShape{kUnknownDim, kLong, kUnknownDim}}, {2, columns}}),
        answer("GRUBlockCellGrad", {{0, rows}, {2, columns}})}) {
    CHECK_MESSAGE(said.find("has more than 2^63 - 1 elements") != said.npos, said);
  }
  // What is said of one input alone is let be.
  CHECK(answer("LSTMBlockCell", {{0, rows}}).empty());
}

}  // namespace
}  // namespace millrace

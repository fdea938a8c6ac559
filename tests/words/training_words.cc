// The twin of training_words.py: trains a small model of every layer for a few steps, and prints
// its losses to the last digit.
//
//   training_words OPTIMIZER PREFIX [RESTORED]
//
// saves under PREFIX at the end, and begins from the checkpoint RESTORED if there is one.
#include <millrace/millrace.h>

#include <cstdio>
#include <memory>
#include <string>

using namespace millrace;

// Numbers from -1 to 1 that both programs know.
Tensor numbers(const Shape& shape, int factor) {
  Tensor made = Tensor::allocate(DType::f32, shape).value();
  int at = 0;
  for (float& each : made.mutable_flat<float>())
    each = static_cast<float>((at++ * factor) % 17 - 8) / 8.0F;
  return made;
}

std::unique_ptr<Optimizer> optimizer_of(const std::string& name) {
  if (name == "GradientDescent") return std::make_unique<GradientDescentOptimizer>(0.1);
  if (name == "Momentum") return std::make_unique<MomentumOptimizer>(0.1, 0.9);
  if (name == "Nesterov")
    return std::make_unique<MomentumOptimizer>(0.1, 0.9, MomentumOptimizer::Kind::nesterov);
  if (name == "Adagrad") return std::make_unique<AdagradOptimizer>(0.1);
  if (name == "Adam") return std::make_unique<AdamOptimizer>(0.01);
  if (name == "RMSProp") return std::make_unique<RMSPropOptimizer>(0.01);
  if (name == "Centered")
    return std::make_unique<RMSPropOptimizer>(0.01,
                                              RMSPropOptions{.momentum = 0.5, .centered = true});
  return nullptr;
}

Status train(const std::string& kind, const std::string& prefix, const std::string& restored) {
  const auto optimizer = optimizer_of(kind);
  if (!optimizer) return invalid("there is no optimizer '", kind, "'");
  const auto seeded = [](int64_t seed) { return initializers::glorot_uniform(seed); };
  const std::shared_ptr<Runtime> runtime = Runtime::create();
  GraphBuilder graph(runtime->ops());
  const VariableScope model(graph.root());
  const Output images = constant(model, numbers({6, 8, 8, 1}, 5));
  const Output ids = constant(model, Tensor::vector<int64_t>({3, 0, 3, 1, 6, 2}));
  const Output labels = constant(model, Tensor::vector<int64_t>({0, 1, 2, 0, 1, 2}));

  const Output filtered = layers::conv2d(
      model, images, 3, {3, 3}, {.padding = Padding::same, .kernel_initializer = seeded(1)});
  const Output normalized =
      ops::relu(model, layers::batch_normalization(model, filtered, {.phase = Phase::training}));
  const Output pooled = layers::average_pooling2d(
      model, layers::max_pooling2d(model, normalized, {2, 2}), {2, 2}, {.strides = {{1, 1}}});
  const VariableScope inner = model.enter("inner");
  const PartitionedVariable table =
      inner.get_partitioned("table", {7, 4}, 2, {.initializer = seeded(2)});
  const Output joined = ops::concat_v2(
      model, {layers::flatten(model, pooled), embedding_lookup(model, table, ids)}, 1);
  const Output hidden =
      layers::dense(inner, joined, 5,
                    {.activation = ops::tanh,
                     .kernel_initializer = initializers::truncated_normal(0, 0.5, 3),
                     .kernel_regularizer = regularizers::l2(0.01)});
  const Output logits =
      layers::dense(inner, hidden, 3, {.kernel_initializer = initializers::he_normal(4)});
  losses::sparse_softmax_cross_entropy(model, labels, logits);
  losses::absolute_difference(model, constant(model, numbers({6, 3}, 3)), logits, {.weights = 0.1});
  const Output loss = losses::get_total_loss(model);
  const VariableScope after = model.in(model.scope().after(model.collections().update_ops));
  const Operation step = optimizer->minimize(after, loss, {.global_step = model.global_step()});
  Saver saver(model);
  const FirstValues first(model);

  MR_ASSIGN(const auto session, Session::create("", {}, runtime));
  MR_TRY(session->extend(graph));
  MR_TRY(first.give(*session));
  if (!restored.empty()) MR_TRY(saver.restore(*session, restored));
  for (int at = 0; at < 5; ++at) {
    MR_ASSIGN(const auto values, session->run({}, {loss.name()}));
    MR_TRY(session->run({}, {}, {.targets = {step.name()}}));
    std::printf("%.9g\n", values[0].item<float>());
  }
  return saver.save(*session, runtime->host().files, prefix).status();
}

int main(int argc, char** argv) {
  const Status status = argc < 3 ? invalid("usage: training_words OPTIMIZER PREFIX [RESTORED]")
                                 : train(argv[1], argv[2], argc > 3 ? argv[3] : "");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return status.ok() ? 0 : 1;
}

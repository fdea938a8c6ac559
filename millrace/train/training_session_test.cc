#include "millrace/train/training_session.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "millrace/api/ops/math.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/io/local_files.h"
#include "millrace/session/server.h"
#include "millrace/session/testing/fleet.h"
#include "millrace/train/hooks.h"
#include "millrace/train/optimizers.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

// A model whose weight falls by one with each step.
struct FallingModel {
  std::shared_ptr<Runtime> runtime = testing::Model::runtime();
  GraphBuilder graph{runtime->ops()};
  VariableScope model{graph.root()};
  Variable weight = model.variable("w", 100.0);
  Variable step = model.global_step();
  GradientDescentOptimizer descent{1.0};
  Operation train = descent.minimize(model, weight, {.global_step = step});

  std::shared_ptr<StopAtStep> until(int64_t last) const {
    return std::make_shared<StopAtStep>(step, last);
  }
  Result<std::unique_ptr<TrainingSession>> begin(const SessionTarget& target,
                                                 TrainingOptions options) const {
    return TrainingSession::begin(model, graph, target, std::move(options), runtime);
  }
};

// Runs until somebody asks for the end; how many steps that took.
int train_on(TrainingSession& training, const Operation& train) {
  int steps = 0;
  for (; !training.should_stop(); ++steps) {
    const auto done = training.run({}, {}, {.targets = {train.name()}});
    REQUIRE_MESSAGE(done.ok(), done.status().to_string());
  }
  return steps;
}

float value_of(TrainingSession& training, const Variable& variable) {
  return training.session()->run({}, {variable.value.name()}).value()[0].item<float>();
}

// Says once, after some steps, that a task was lost.
class LoseOnce : public TrainingHook {
 public:
  explicit LoseOnce(int after) : left_(after) {}
  Status begin(Session& /*session*/, const Host& /*host*/) override {
    ++begun;
    return {};
  }
  Result<AfterStep> after_step(Session& /*session*/, const Host& /*host*/,
                               std::span<const Tensor> /*values*/) override {
    if (--left_ == 0) return error(Code::unavailable, "/job:ps/task:0 is gone");
    return AfterStep::go_on;
  }
  int begun = 0;

 private:
  int left_;
};

TEST_CASE("a training ends at its step, and the next one goes on from its checkpoint") {
  const testing::ScratchDirectory folder;
  {
    const FallingModel own;
    const auto training =
        own.begin("", {.checkpoint_folder = folder.path("m"), .hooks = {own.until(10)}}).value();
    CHECK(train_on(*training, own.train) == 10);
    CHECK(value_of(*training, own.weight) == 90);
    CHECK(training->end().ok());
    CHECK(training->run({}, {}).status().code() == Code::failed_precondition);
  }
  LocalFiles files;
  CHECK(latest_checkpoint(files, folder.path("m")).value() == folder.path("m/model.ckpt-10"));
  CHECK(files.facts(folder.path("m/model.ckpt-0.index")).ok());
  const FallingModel own;
  const auto training =
      own.begin("", {.checkpoint_folder = folder.path("m"), .hooks = {own.until(15)}}).value();
  CHECK(train_on(*training, own.train) == 5);
  CHECK(value_of(*training, own.weight) == 85);
}

TEST_CASE("checkpoints are saved every so many steps, and the oldest go") {
  const testing::ScratchDirectory folder;
  const FallingModel own;
  const auto training = own.begin("", {.checkpoint_folder = folder.path("m"),
                                       .save_every = {.steps = 4},
                                       .max_to_keep = 2,
                                       .hooks = {own.until(10)}})
                            .value();
  train_on(*training, own.train);
  REQUIRE(training->end().ok());
  LocalFiles files;
  for (const auto& each : {std::pair(0, false), {4, false}, {8, true}, {10, true}}) {
    const auto step = each.first;
    const bool is_there = each.second;
    CAPTURE(step);
    const auto facts = files.facts(folder.path(str_cat("m/model.ckpt-", step, ".index")));
    CHECK(facts.ok() == is_there);
  }
}

TEST_CASE("checkpoints are written while steps go on, and the last one is whole at the end") {
  const testing::ScratchDirectory folder;
  const FallingModel own;
  const auto lose = std::make_shared<LoseOnce>(7);
  const auto training = own.begin("", {.checkpoint_folder = folder.path("m"),
                                       .save_every = {.steps = 2},
                                       .saves_in_background = true,
                                       .hooks = {own.until(10), lose}})
                            .value();
  // The seventh step is lost with all that came after the checkpoint of step 6.
  CHECK(train_on(*training, own.train) == 10);
  CHECK(lose->begun == 2);
  REQUIRE(training->end().ok());
  LocalFiles files;
  CHECK(latest_checkpoint(files, folder.path("m")).value() == folder.path("m/model.ckpt-10"));
}

TEST_CASE("a checkpoint that can't be written in the background ends the training") {
  const testing::ScratchDirectory folder;
  const FallingModel own;
  const auto training = own.begin("", {.checkpoint_folder = folder.path("m"),
                                       .save_every = {.steps = 1},
                                       .saves_in_background = true,
                                       .hooks = {own.until(10'000)}})
                            .value();
  // A file in place of the folder. The first checkpoint may come meanwhile.
  std::error_code failed;
  do {
    std::filesystem::remove_all(folder.path("m"), failed);
    std::ofstream(folder.path("m")) << "no folder";
  } while (!std::filesystem::is_regular_file(folder.path("m")));
  Status done;
  while (done.ok()) done = training->run({}, {}, {.targets = {own.train.name()}}).status();
  CHECK(done.message().find("saving '") != std::string::npos);
}

TEST_CASE("a lost session whose values are gone goes on from the newest checkpoint") {
  const testing::ScratchDirectory folder;
  const FallingModel own;
  const auto lose = std::make_shared<LoseOnce>(7);
  const auto training = own.begin("", {.checkpoint_folder = folder.path("m"),
                                       .save_every = {.steps = 5},
                                       .hooks = {own.until(10), lose}})
                            .value();
  // Seven steps, of which two and the lost one's second try come after the checkpoint of step 5.
  CHECK(train_on(*training, own.train) == 11);
  CHECK(lose->begun == 2);
  CHECK(value_of(*training, own.weight) == 90);
}

TEST_CASE("a lost session whose values are there costs no step") {
  const FallingModel own;
  ClusterSpec cluster;
  REQUIRE(cluster.add_job("worker", {"localhost:0"}).ok());
  const auto server = Server::start({.cluster = cluster, .job = "worker"}, own.runtime).value();
  const auto lose = std::make_shared<LoseOnce>(7);
  const auto training = own.begin(*server, {.hooks = {own.until(10), lose}}).value();
  CHECK(train_on(*training, own.train) == 9);  // the lost one was made, and is made again
  CHECK(lose->begun == 2);
  CHECK(value_of(*training, own.weight) == 90);
}

TEST_CASE("a ps that comes back without its values gets them from the newest checkpoint") {
  const testing::ScratchDirectory folder;
  const std::shared_ptr<Runtime> runtime = testing::Model::runtime();
  testing::Fleet fleet({"ps", "worker"}, runtime);
  fleet.start("ps");
  GraphBuilder graph(runtime->ops());
  const VariableScope model(graph.root().device("/job:ps/task:0"));
  const Variable weight = model.variable("w", 100.0);
  const Variable step = model.global_step();
  GradientDescentOptimizer descent(1.0);
  const Operation train = descent.minimize(model, weight, {.global_step = step});
  const auto training =
      TrainingSession::begin(model, graph, fleet.start("worker"),
                             {.checkpoint_folder = folder.path("m"), .save_every = {.steps = 2}},
                             runtime)
          .value();
  const auto one_more = [&] {
    return training->run({}, {weight.value.name()}, {.targets = {train.name()}})
        .status()
        .to_string();
  };
  for (int i = 0; i < 5; ++i) REQUIRE(one_more() == "OK");
  REQUIRE(fleet.servers["ps"]->stop().ok());
  fleet.start("ps");
  REQUIRE(one_more() == "OK");
  CHECK(value_of(*training, weight) == 95);  // from step 4 on
}

TEST_CASE("a loss that goes on for too long is the program's to see") {
  const FallingModel own;
  const auto gone = own.begin("", {.hooks = {std::make_shared<LoseOnce>(1)},
                                   .patience = std::chrono::milliseconds(0)})
                        .value();
  const Status lost = gone->run({}, {}, {.targets = {own.train.name()}}).status();
  CHECK(lost.to_string() == "UNAVAILABLE: /job:ps/task:0 is gone");
}

TEST_CASE("who asks for the end does not wait for what was lost") {
  class LoseAndStop : public TrainingHook {
   public:
    Result<AfterStep> after_step(Session& /*session*/, const Host& /*host*/,
                                 std::span<const Tensor> /*values*/) override {
      training->request_stop();
      return error(Code::unavailable, "/job:ps/task:0 is gone");
    }
    TrainingSession* training = nullptr;
  };
  const FallingModel own;
  const auto hook = std::make_shared<LoseAndStop>();
  const auto training = own.begin("", {.hooks = {hook}}).value();
  hook->training = training.get();
  const Status lost = training->run({}, {}, {.targets = {own.train.name()}}).status();
  CHECK(lost.code() == Code::unavailable);
  CHECK(training->session() == nullptr);
}

TEST_CASE("who is no chief waits for values") {
  const FallingModel own;
  const auto late =
      own.begin("", {.is_chief = false, .patience = std::chrono::milliseconds(0)}).status();
  CHECK(late.code() == Code::deadline_exceeded);
  CHECK(late.message().find("'w'") != std::string::npos);
}

TEST_CASE("a loss that is no number ends the training, with its name") {
  const FallingModel own;
  const Output none = (own.weight.value - 100.0) / (own.weight.value - 100.0);
  const auto training = own.begin("", {.hooks = {std::make_shared<FailAtNaN>(none)}}).value();
  const Status failed = training->run({}, {}).status();
  CHECK(failed.code() == Code::invalid_argument);
  CHECK(failed.message().find("during training") != std::string::npos);
}

TEST_CASE("a loss that can't be no number is refused, and a short one is looked at") {
  const FallingModel own;
  const auto fails = [&](const Output& loss) {
    const auto training = own.begin("", {.hooks = {std::make_shared<FailAtNaN>(loss)}}).value();
    return training->run({}, {}).status().message();
  };
  CHECK(fails(own.step).find("is of int64, and FailAtNaN") != std::string::npos);
  const Output none = (own.weight.value - 100.0) / (own.weight.value - 100.0);
  CHECK(fails(ops::cast(own.model, none, DType::f16)).find("during training") != std::string::npos);
  CHECK(fails(ops::cast(own.model, own.weight, DType::bf16)).empty());
}

TEST_CASE("what a hook feeds, nobody else may feed") {
  class Feeds : public TrainingHook {
   public:
    StepWishes wanted() override { return {.feeds = {{"x:0", Tensor::scalar(1.0F)}}}; }
  };
  const FallingModel own;
  const auto training = own.begin("", {.hooks = {std::make_shared<Feeds>()}}).value();
  const Status twice = training->run({{"x:0", Tensor::scalar(2.0F)}}, {}).status();
  CHECK(twice.to_string() ==
        "INVALID_ARGUMENT: 'x:0' is fed by a hook, and by the program or another hook");
}

TEST_CASE("checkpoints want a global step") {
  GraphBuilder graph(testing::Model::runtime()->ops());
  const VariableScope model(graph.root());
  model.variable("w", 1.0);
  const auto none = TrainingSession::begin(model, graph, "", {.checkpoint_folder = "m"},
                                           testing::Model::runtime());
  CHECK(none.status().code() == Code::failed_precondition);
}

TEST_CASE("patience pauses ever longer, and ends") {
  using std::chrono::milliseconds;
  Patience patience(milliseconds(100'000));
  Clock::Time now{};
  std::vector<int64_t> pauses;
  while (const auto pause = patience.failed(now)) {
    pauses.push_back(pause->count());
    now += *pause;
  }
  CHECK(pauses == std::vector<int64_t>{0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000});
  patience.succeeded();
  CHECK(patience.failed(now) == milliseconds(0));
}

}  // namespace
}  // namespace millrace

#include "millrace/train/saver.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

#include <doctest/doctest.h>

#include "millrace/api/ops/state.h"
#include "millrace/base/testing/scratch_directory.h"
#include "millrace/io/local_files.h"
#include "millrace/train/node_scopes.h"
#include "millrace/train/testing/model.h"

namespace millrace {
namespace {

using testing::check_near;
using testing::Model;

std::vector<std::string> names_in(const std::string& folder) {
  auto names = LocalFiles().list(folder).value();
  std::ranges::sort(names);
  return names;
}

// Work that waits until a test lets it run.
struct Shelf : Runner {
  void post(Task task) override { tasks.push_back(std::move(task)); }
  void run_all() {
    for (Task& task : std::exchange(tasks, {})) task();
  }
  std::vector<Task> tasks;
};

TEST_CASE("what is saved in the background are the values of the moment, though steps go on") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  Shelf shelf;
  Model model;
  const Variable w = model.root.variable("w", {1.0, 2.0});
  const Variable other = model.root.variable("other", 3.0);
  const std::array<Operation, 2> both = {
      ops::assign_add(model.root, w.reference, Tensor::of<float>({2}, {1, 1})).op(),
      ops::assign(model.root, other.reference, 4.0f).op()};
  const Operation change = group(model.root, both, claim_inside(model.root, "change"));
  Saver saver(model.root, {.max_to_keep = 1, .background = &shelf});
  model.initialize();
  const std::string path = saver.save(*model.session, files, folder.path("m"), 1).value();
  CHECK(path == folder.path("m-1"));
  model.perform(change);
  CHECK(saver.is_saving());
  CHECK(latest_checkpoint(files, folder.path("")).status().code() == Code::not_found);
  shelf.run_all();
  CHECK_FALSE(saver.is_saving());
  REQUIRE(saver.wait().ok());
  CHECK(latest_checkpoint(files, folder.path("")).value() == path);
  check_near(model.floats(w), {2, 3});
  REQUIRE(saver.restore(*model.session, path).ok());
  check_near(model.floats(w), {1, 2});
  check_near(model.floats(other), {3});
  // What one save has taken is not what the next one writes, and the oldest goes.
  model.perform(change);
  const std::string newer = saver.save(*model.session, files, folder.path("m"), 2).value();
  shelf.run_all();
  REQUIRE(saver.wait().ok());
  CHECK(names_in(folder.path("")) ==
        std::vector<std::string>{"checkpoint", "m-2.data-00000-of-00001", "m-2.index"});
  model.perform(change);
  REQUIRE(saver.restore(*model.session, newer).ok());
  check_near(model.floats(w), {2, 3});
}

TEST_CASE("an error in the background is told once, by whoever waits or saves next") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  Shelf shelf;
  Model model;
  model.root.variable("w", 1.0);
  Saver saver(model.root, {.background = &shelf});
  model.initialize();
  std::ofstream(folder.path("file")) << "no folder";
  const std::string nowhere = folder.path("file/m");
  const auto save_and_write = [&](const std::string& prefix) {
    Status begun = saver.save(*model.session, files, prefix).status();
    shelf.run_all();
    return begun;
  };
  REQUIRE(save_and_write(nowhere).ok());
  const Status told = saver.wait();
  CHECK(told.message().find("saving '" + nowhere + "'") != std::string::npos);
  CHECK(saver.wait().ok());
  REQUIRE(save_and_write(nowhere).ok());
  CHECK_FALSE(save_and_write(folder.path("m")).ok());
  CHECK(save_and_write(folder.path("m")).ok());
  CHECK(saver.wait().ok());
}

TEST_CASE("a session that goes while its values are written is an error of that save") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  Shelf shelf;
  Model model;
  model.root.variable("w", 1.0);
  Saver saver(model.root, {.background = &shelf});
  model.initialize();
  REQUIRE(saver.save(*model.session, files, folder.path("m")).ok());
  model.session.reset();
  shelf.run_all();
  CHECK_FALSE(saver.wait().ok());
  CHECK(latest_checkpoint(files, folder.path("")).status().code() == Code::not_found);
}

TEST_CASE("what one session has saved, another restores") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  std::string path;
  {
    Model model;
    model.root.variable("w", {1.0, 2.0});
    model.root.get_variable("n", {}, {.dtype = DType::i64});
    Saver saver(model.root);
    model.initialize();
    path = saver.save(*model.session, files, folder.path("model"), 7).value();
    CHECK(path == folder.path("model-7"));
  }
  CHECK(latest_checkpoint(files, folder.path("")).value() == path);
  Model model;
  const Variable w = model.root.variable("w", {0.0, 0.0});
  Saver saver(model.root, {.variables = {w}});
  model.initialize();
  REQUIRE(saver.restore(*model.session, path).ok());
  check_near(model.floats(w), {1, 2});
  const Status none = saver.restore(*model.session, folder.path("other"));
  CHECK(none.code() == Code::not_found);
  CHECK(none.message().find("restoring '") != std::string::npos);
}

TEST_CASE("a table in parts is one name in a checkpoint, whatever the parts") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  const std::string prefix = folder.path("table");
  Model model;
  const PartitionedVariable table = model.root.get_partitioned(
      "table", {3, 1}, 2, {.initializer = initializers::random_normal()});
  Saver saver(model.root);
  model.initialize();
  REQUIRE(saver.save(*model.session, files, prefix).ok());
  std::vector<float> all = model.floats(table.parts[0]);
  all.push_back(model.floats(table.parts[1])[0]);
  Model whole;
  const Variable again = whole.root.get_variable("table", {3, 1});
  Saver other(whole.root);
  whole.initialize();
  REQUIRE(other.restore(*whole.session, prefix).ok());
  CHECK(whole.floats(again) == all);
}

TEST_CASE("the oldest checkpoints go, and the folder's file never names one that is gone") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  Model model;
  model.root.variable("w", 1.0);
  Saver saver(model.root, {.max_to_keep = 2});
  model.initialize();
  for (int step = 1; step <= 3; ++step)
    REQUIRE(saver.save(*model.session, files, folder.path("m"), step).ok());
  CHECK(names_in(folder.path("")) ==
        std::vector<std::string>{"checkpoint", "m-2.data-00000-of-00001", "m-2.index",
                                 "m-3.data-00000-of-00001", "m-3.index"});
  const auto text = files.open(folder.path("checkpoint")).value();
  std::string read(1000, '\0');
  read.resize(text->read(0, read).value());
  CHECK(read ==
        "model_checkpoint_path: \"m-3\"\n"
        "all_model_checkpoint_paths: \"m-2\"\n"
        "all_model_checkpoint_paths: \"m-3\"\n");
}

TEST_CASE("a program that is started again removes what the one before has saved") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  for (int life = 0; life < 3; ++life) {
    Model model;
    model.root.variable("w", 1.0);
    Saver saver(model.root, {.max_to_keep = 1});
    model.initialize();
    REQUIRE(saver.adopt(files, folder.path("")).ok());
    REQUIRE(saver.save(*model.session, files, folder.path("m"), life).ok());
  }
  CHECK(names_in(folder.path("")) ==
        std::vector<std::string>{"checkpoint", "m-2.data-00000-of-00001", "m-2.index"});
}

TEST_CASE("a folder's file that names nothing, or nothing there, says so") {
  const testing::ScratchDirectory folder;
  LocalFiles files;
  CHECK(latest_checkpoint(files, folder.path("")).status().code() == Code::not_found);
  const auto write = [&](std::string_view text) {
    const auto file = files.create(folder.path("checkpoint")).value();
    REQUIRE(file->append(text).ok());
    REQUIRE(file->close().ok());
  };
  write("model_checkpoint_path: \"/else/where \\\"q\\\"\\101\"\n");
  CHECK(latest_checkpoint(files, folder.path("")).value() == "/else/where \"q\"A");
  for (const std::string_view bad :
       {"", "model_checkpoint_path: \"", "model_checkpoint_path: m", "model_checkpoint_path: \"\"",
        "model_checkpoint_path: \"\\"}) {
    write(bad);
    CHECK(latest_checkpoint(files, folder.path("")).status().code() == Code::invalid_argument);
  }
}

TEST_CASE("a model without variables has nothing to save") {
  Model model;
  Saver saver(model.root);
  CHECK(model.status() == "INVALID_ARGUMENT: Saver: no variables to save");
  LocalFiles files;
  CHECK(saver.save(*model.session, files, "x").status().code() == Code::failed_precondition);
}

}  // namespace
}  // namespace millrace

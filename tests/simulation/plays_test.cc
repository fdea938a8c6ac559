// The plays of testdata/*.txt: read them there. With MILLRACE_REWRITE in the environment they are
// written anew with what was seen, to be read before it is committed.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/simulation/play.h"
#include <doctest/doctest.h>

#include "millrace/ops/all.h"

namespace millrace::simulation {
namespace {

struct Paragraph {
  std::string title, script, expected;
};

// Paragraphs stand between empty lines; a "----" stands between what happens and what is seen.
std::vector<Paragraph> read(const std::filesystem::path& path) {
  std::vector<Paragraph> all;
  std::ifstream file(path);
  Paragraph next;
  std::string* part = nullptr;
  const auto finish = [&] {
    if (part != nullptr) all.push_back(std::exchange(next, {}));
    part = nullptr;
  };
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      finish();
    } else if (line == "----") {
      part = &next.expected;
    } else {
      if (part == nullptr) part = &next.title;
      if (part == &next.title && line[0] != '#') part = &next.script;
      *part += line + "\n";
    }
  }
  finish();
  return all;
}

TEST_CASE("every play goes as it is written") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  const bool rewrites = std::getenv("MILLRACE_REWRITE") != nullptr;
  size_t plays = 0;
  for (const auto& entry : std::filesystem::directory_iterator("testdata")) {
    std::ostringstream written;
    for (const Paragraph& paragraph : read(entry.path())) {
      CAPTURE(paragraph.title);
      ++plays;
      const std::string seen = play(ops, paragraph.script);
      if (!rewrites) CHECK(seen == paragraph.expected);
      written << (plays > 1 && written.tellp() > 0 ? "\n" : "") << paragraph.title
              << paragraph.script << "----\n"
              << seen;
    }
    if (rewrites) std::ofstream(entry.path()) << written.str();
  }
  CHECK(plays >= 1);
}

TEST_CASE("the same seed makes the same play") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  const std::string script =
      "tasks master worker:3\n"
      "graph x = VariableV2(dtype=float, shape=[]) @ /job:worker/task:1\n"
      "graph i = Assign(x, c) @ /job:worker/task:1\n"
      "graph c = Const(1)\n"
      "session\n"
      "run !i\n"
      "kill worker:1\n"
      "run x:0\n"
      "close\n";
  CHECK(play(ops, "seed 5\n" + script) == play(ops, "seed 5\n" + script));
}

TEST_CASE("a creation that was given up leaves no session, in whatever order a task hears of it") {
  OpRegistry ops;
  REQUIRE(register_all_ops(ops).ok());
  // What came while b was frozen it handles in an order that the seed draws: the session's end
  // before its creation in half of them.
  for (int seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const std::string seen = play(ops, str_cat("seed ", seed,
                                               "\n"
                                               "tasks a b\n"
                                               "hold b CreateWorkerSession\n"
                                               "session\n"
                                               "freeze b\n"
                                               "release b CreateWorkerSession\n"
                                               "cancel\n"
                                               "wait 1s\n"
                                               "thaw b\n"
                                               "wait 6s\n"
                                               "counts\n"));
    CHECK(seen.ends_with("a has nothing\nb has nothing\n"));
  }
}

}  // namespace
}  // namespace millrace::simulation

#include "millrace/launch/shipping/output_patterns.h"

#include <doctest/doctest.h>

namespace millrace {
namespace {

bool comes_back(std::string_view path, std::vector<std::string> patterns) {
  return is_output(path, patterns, {"train.py", "env"});
}

TEST_CASE("an output is named, or is in what is named") {
  CHECK(comes_back("log", {"log"}));
  CHECK(comes_back("log", {"./log"}));
  CHECK(comes_back("model/deep/w.bin", {"model"}));
  CHECK(comes_back("model/deep/w.bin", {"model/"}));
  CHECK(comes_back("model/deep/w.bin", {"model/*"}));
  CHECK(comes_back("part-0", {"a", "part-[0-9]"}));
  CHECK_FALSE(comes_back("model.bin", {"model"}));
  CHECK_FALSE(comes_back("model/w.bin", {"*.bin"}));
  CHECK_FALSE(comes_back(".hidden", {"*"}));
}

TEST_CASE("what travelled there does not come back unless it is named") {
  CHECK(comes_back("new", {"*"}));
  CHECK_FALSE(comes_back("train.py", {"*"}));
  CHECK_FALSE(comes_back("env/bin/python", {"*"}));
  CHECK_FALSE(comes_back("env/made", {"*/made"}));
  CHECK(comes_back("env/made", {"env/made"}));
  CHECK(comes_back("train.py", {"train.py"}));
}

}  // namespace
}  // namespace millrace

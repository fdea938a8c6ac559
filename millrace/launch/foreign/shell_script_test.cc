#include "millrace/launch/foreign/shell_script.h"

#include <doctest/doctest.h>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// "LINE word|word" for each command.
std::string shell_told(std::string_view text) {
  const auto commands = read_shell_script(text, "x");
  if (!commands.ok()) return commands.status().message();
  std::string told;
  for (const ShellCommand& command : *commands) {
    str_append(&told, command.where, " ");
    for (const std::string& word : command.words) str_append(&told, word, "|");
    if (!command.here.empty()) str_append(&told, " <<", command.here);
    told += "\n";
  }
  return told;
}

TEST_CASE("a script is read as commands of plain words, each with its line") {
  CHECK(shell_told("#!/bin/sh\n# a comment\na  'b c' \"d\\\"e\" \\\n f  # the rest\n") ==
        "x:3 a|b c|d\"e|f|\n");
  CHECK(shell_told("a & b; c && d | e\n(f)") == "x:1 a|\nx:1 b|\nx:1 c|\nx:1 d|\nx:1 e|\nx:2 f|\n");
  CHECK(shell_told("export A='{\n}' B=$HOME\nc") == "x:1 export|A={\n}|B=$HOME|\nx:3 c|\n");
}

TEST_CASE("redirections belong to no command, and what stands below << to the one before it") {
  CHECK(shell_told("a 2>&1 >\"my file\" <in b") == "x:1 a|b|\n");
  CHECK(shell_told("run x <<'END'\n  'one\n#two\nEND\nb") ==
        "x:1 run|x| <<  'one\n#two\n\nx:5 b|\n");
}

TEST_CASE("of comments, only those for sbatch are told") {
  CHECK(shell_told("#SBATCH --ntasks=4 -p 'a b'\n#SBATC\n") == "x:1 #SBATCH|--ntasks=4|-p|a b|\n");
}

TEST_CASE("what has no end is refused with the line of its beginning or of its end") {
  CHECK(shell_told("a\nb 'c\nd\n") == "x:2: a quote ' is not closed");
  CHECK(shell_told("a <<END\nb\n") == "x:3: the text below << END has no end");
  CHECK(shell_told(std::string(2 << 20, 'a')).starts_with("x: a script of a job has at most"));
  CHECK(shell_told("").empty());
}

}  // namespace
}  // namespace millrace

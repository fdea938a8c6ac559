// Part of verbs.h: `millrace check`.
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/python_module.h"
#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

constexpr const char* kCheckFooter =
    R"(Lists in one go, without running anything, what a TensorFlow 1 program needs that is not here: each
name, with the line that uses it and what to use instead, and calls whose arguments do not fit. Modules
of the program that lie beside it are read too. Of a GraphDef, as bytes or as text, it lists the ops.

Examples:
  millrace check train.py
  millrace check model/*.py graph.pb

Exit codes: 0 nothing is missing, 1 something is, 2 a file can't be read or the command line makes no
sense. What stands in a try that catches its absence does not count.)";

// Names are the front-end's, so Python answers.
int check(const std::vector<std::string>& files) {
  std::vector<std::string> words = {"--"};
  words.insert(words.end(), files.begin(), files.end());
  return become_python("check", "millrace._check", words);
}

}  // namespace

void add_check(CLI::App& app, Invocation& invocation) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* verb = app.add_subcommand(
      "check", "List what a TensorFlow 1 program or graph needs that is missing");
  verb->footer(kCheckFooter);
  verb->add_option("FILE", *files, "A program in Python, or a GraphDef")->required();
  verb->callback([files, &invocation] { invocation.run = [files] { return check(*files); }; });
}

}  // namespace millrace

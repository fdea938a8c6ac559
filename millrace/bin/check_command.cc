// Part of verbs.h: `millrace check`.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>

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

// The package lies beside the command in a build's folders; elsewhere it is on the interpreter's
// path.
void put_package_on_path() {
  std::error_code fault;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", fault);
  const auto folder = self.parent_path().parent_path() / "python";
  if (fault || !std::filesystem::exists(folder / "millrace", fault)) return;
  std::string path = folder.string();
  if (const char* others = std::getenv("PYTHONPATH"); others != nullptr && *others != '\0')
    path += std::string(":") + others;
  setenv("PYTHONPATH", path.c_str(), 1);
}

// Names are the front-end's, so Python answers: this process becomes its interpreter.
int check(const std::vector<std::string>& files) {
  put_package_on_path();
  std::vector<std::string> words = {"python3", "-m", "millrace._check", "--"};
  words.insert(words.end(), files.begin(), files.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  complain("check",
           unavailable("can't start python3, which knows the names: ", std::strerror(errno)));
  return kMisused;
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

#include "millrace/bin/python_module.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

// Empty if the system does not tell.
std::filesystem::path folder_of_command() {
  std::error_code fault;
  return std::filesystem::read_symlink("/proc/self/exe", fault).parent_path();
}

// The package lies beside the command in a build's folders; elsewhere it is on the interpreter's
// path.
void put_package_on_path(const std::filesystem::path& command) {
  std::error_code fault;
  const auto folder = command.parent_path() / "python";
  if (command.empty() || !std::filesystem::exists(folder / "millrace", fault)) return;
  std::string path = folder.string();
  if (const char* others = std::getenv("PYTHONPATH"); others != nullptr && *others != '\0')
    path += std::string(":") + others;
  setenv("PYTHONPATH", path.c_str(), 1);
}

// That beside the command if there is one: a virtual environment's need not be on PATH.
std::string interpreter(const std::filesystem::path& command) {
  std::error_code fault;
  const auto beside = command / "python3";
  const bool there = !command.empty() && std::filesystem::exists(beside, fault);
  return there ? beside.string() : "python3";
}

}  // namespace

int become_python(const std::string& verb, const std::string& module,
                  const std::vector<std::string>& words) {
  const std::filesystem::path folder = folder_of_command();
  put_package_on_path(folder);
  std::vector<std::string> all = {interpreter(folder), "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  complain(verb, unavailable("can't start ", all[0], ", which answers: ", std::strerror(errno)));
  return kMisused;
}

}  // namespace millrace

#include "millrace/bin/python_module.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

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

}  // namespace

int become_python(const std::string& verb, const std::string& module,
                  const std::vector<std::string>& words) {
  put_package_on_path();
  std::vector<std::string> all = {"python3", "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  complain(verb, unavailable("can't start python3, which answers: ", std::strerror(errno)));
  return kMisused;
}

}  // namespace millrace

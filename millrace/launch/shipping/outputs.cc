#include "millrace/launch/shipping/outputs.h"

#include <algorithm>
#include <filesystem>

#include "millrace/launch/shipping/file_calls.h"
#include "millrace/launch/shipping/output_patterns.h"

namespace millrace {

Result<std::vector<std::string>> find_outputs(const std::string& folder,
                                              const std::vector<std::string>& patterns,
                                              const std::set<std::string, std::less<>>& shipped) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  std::error_code fault;
  auto it = fs::recursive_directory_iterator(folder, fault);
  for (; !fault && it != fs::recursive_directory_iterator(); it.increment(fault)) {
    std::error_code no;
    if (it->is_symlink(no) || !it->is_regular_file(no)) continue;
    std::string path = it->path().string().substr(folder.size() + 1);
    if (!is_output(path, patterns, shipped)) continue;
    if (!is_output_path(path))
      return invalid("outputs: '", path, "' has a name that can't be brought back");
    found.push_back(std::move(path));
  }
  if (fault) return unavailable("outputs: can't look into '", folder, "': ", fault.message());
  std::ranges::sort(found);
  return found;
}

}  // namespace millrace

#include "millrace/launch/shipping/placed_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// As YARN unpacks them, by these ends of their names.
constexpr std::string_view kArchives[] = {".tar.gz", ".tgz", ".tar", ".zip"};
constexpr std::string_view kElf =
    "\x7f"
    "ELF";
constexpr size_t kLongestName = 255;

std::string_view archive_end(std::string_view name) {
  for (const std::string_view end : kArchives)
    if (name.size() > end.size() && name.ends_with(end)) return end;
  return "";
}

}  // namespace

PlacedFile placed_as(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view end = archive_end(name);
  return {.name = std::string(name.substr(0, name.size() - end.size())),
          .is_archive = !end.empty()};
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         std::ranges::none_of(
             name, [](char c) { return c == '/' || (c >= 0 && c < ' ') || c == '\x7f'; });
}

Status check_placed(const JobSpec& job, std::string_view ours) {
  if (!job.directory.empty())
    return invalid(
        "directory: with files a task works in a folder of its own, where the job's files are; "
        "leave it out");
  std::set<std::string> names = {kProgramsFolder, std::string(ours)};
  for (const std::string& file : job.files) {
    const std::string name = placed_as(file).name;
    if (!is_plain_name(name))
      return invalid("files: '", file, "' has no name that a file of a task may have");
    if (!names.insert(name).second)
      return invalid("files: '", file, "' would be called '", name,
                     "' in a task's folder, as something else there is; give it another name");
  }
  return {};
}

bool is_program(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kElf.size()> begin{};
  file.read(begin.data(), begin.size());
  return file && std::string_view(begin.data(), begin.size()) == kElf &&
         access(path.c_str(), X_OK) == 0;
}

Result<std::string> find_file(const std::string& name, const std::string& directory,
                              const std::string& search) {
  std::error_code ignored;
  const std::string here = (fs::path(directory) / name).string();
  if (fs::is_regular_file(here, ignored)) return here;
  if (fs::is_directory(here, ignored))
    return invalid("files: '", name, "' is a folder, which goes along as an archive: tar czf ",
                   name, ".tar.gz -C ", name, " .");
  if (name.find('/') == std::string::npos) {
    std::string_view rest = search;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
      const std::string path = str_cat(folder.empty() ? "." : folder, "/", name);
      if (fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return not_found("files: there is no '", name, "' in ", directory,
                   ", nor a program of that name");
}

}  // namespace millrace

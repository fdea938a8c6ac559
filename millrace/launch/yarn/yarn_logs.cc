#include "millrace/launch/yarn/yarn_logs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job_folder.h"
#include "millrace/launch/yarn/aggregated_logs.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLogsThere = "logs/";
constexpr std::string_view kUnfinished = ".tmp";

// In YARN's folder all of them lie beside each other.
std::string_view name_there(std::string_view name) {
  return name.starts_with(kLogsThere) ? name.substr(kLogsThere.size()) : name;
}

// What there is of it here may be more: it was had of a launcher that ran.
Status keep(const std::string& folder, const std::string& name, std::string_view bytes) {
  const std::string path = str_cat(folder, "/", name);
  std::error_code fault;
  const auto here = fs::file_size(path, fault);
  if (!fault && here >= bytes.size()) return {};
  fs::create_directories(fs::path(path).parent_path(), fault);
  return write_whole_text(path, std::string(bytes));
}

Result<std::string> bytes_in_file(const ReadableFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  size_t had = 0;
  while (had < size) {
    MR_ASSIGN(const size_t got, file.read(offset + had, std::span(bytes).subspan(had)));
    if (got == 0) return error(Code::data_loss, "it has become shorter");
    had += got;
  }
  return bytes;
}

class Bringing {
 public:
  Bringing(const YarnLogsOptions& options, const KeptByYarn& kept, const std::string& folder,
           std::vector<std::string> names)
      : options_(options), kept_(kept), folder_(folder), left_(std::move(names)) {}

  std::vector<std::string> run() {
    from_machine();
    for (const std::string& at : kept_.aggregated)
      if (!left_.empty()) from_folder(at);
    return had_;
  }

 private:
  void from_machine() {
    if (kept_.web.empty()) return;
    for (const std::string& name : std::vector<std::string>(left_)) {
      const auto page = options_.page(str_cat(kept_.web, "/ws/v1/node/containers/", kept_.container,
                                              "/logs/", name_there(name)));
      // Nobody is there, or it keeps none of this job any more.
      if (!page.ok() && page.status().code() != Code::not_found) return;
      if (!page.ok()) continue;
      const Result<std::string> log = log_in_page(*page);
      if (log.ok()) have(name, *log);
    }
  }

  void from_folder(const std::string& at) {
    const Result<Files*> files = options_.files(at);
    if (!files.ok()) return;
    const Result<std::vector<std::string>> machines = (*files)->list(at);
    if (!machines.ok()) return;
    for (const std::string& machine : *machines)
      if (!left_.empty() && !machine.ends_with(kUnfinished))
        (void)from_file(**files, str_cat(at, "/", machine));
  }

  Status from_file(Files& files, const std::string& path) {
    MR_ASSIGN(const auto file, files.open(path));
    AggregatedFile aggregated{
        .read = [&](uint64_t offset, uint64_t size) { return bytes_in_file(*file, offset, size); }};
    MR_ASSIGN(aggregated.size, file->size());
    return read_aggregated(aggregated, [&](const AggregatedLog& log) {
      if (log.container != kept_.container) return Status();
      const auto name = std::ranges::find(left_, log.name, name_there);
      if (name != left_.end()) have(std::string(*name), log.bytes);
      return Status();
    });
  }

  void have(const std::string& name, std::string_view bytes) {
    if (!keep(folder_, name, bytes).ok()) return;
    std::erase(left_, name);
    had_.push_back(name);
  }

  const YarnLogsOptions& options_;
  const KeptByYarn& kept_;
  const std::string& folder_;
  std::vector<std::string> left_;
  std::vector<std::string> had_;
};

}  // namespace

Result<std::string> log_in_page(std::string_view page) {
  constexpr std::string_view kBegin = "Container: ";
  constexpr std::string_view kLength = "\nLogLength:";
  constexpr std::string_view kContents = "\nLogContents:\n";
  constexpr std::string_view kEnd = "End of LogType:";
  // Of an empty file nothing is shown but its end; before Hadoop 3 nothing but the file was.
  if (page.starts_with(kEnd)) return std::string();
  if (!page.starts_with(kBegin)) return std::string(page);
  const size_t contents = page.find(kContents);
  const size_t length = page.find(kLength);
  if (contents == std::string_view::npos || length == std::string_view::npos || length > contents)
    return std::string(page);
  uint64_t size = 0;
  std::from_chars(page.data() + length + kLength.size(), page.data() + contents, size);
  page.remove_prefix(contents + kContents.size());
  if (size > page.size())
    return error(Code::data_loss, "of ", size, " bytes of the log ", page.size(), " have come");
  return std::string(page.substr(0, size));
}

std::vector<std::string> bring_from_yarn(const YarnLogsOptions& options, const KeptByYarn& kept,
                                         const std::string& folder,
                                         const std::vector<std::string>& names) {
  if (kept.container.empty()) return {};
  return Bringing(options, kept, folder, names).run();
}

}  // namespace millrace

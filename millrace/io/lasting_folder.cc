#include "millrace/io/lasting_folder.h"

namespace millrace::io {

Status make_lasting_folder(LastingFiles& files, const std::string& path) {
  const Result<FileFacts> facts = files.facts(path);
  if (facts.ok() && facts->is_directory) return {};
  if (!facts.ok() && facts.status().code() != Code::not_found) return facts.status();
  const size_t slash = path.find_last_of('/');
  const bool has_parent = slash != std::string::npos && slash > 0;
  if (has_parent) MR_TRY(make_lasting_folder(files, path.substr(0, slash)));
  MR_TRY(files.make_directories(path));
  return files.sync_folder(has_parent ? path.substr(0, slash) : slash == 0 ? "/" : ".");
}

}  // namespace millrace::io

// What WebHDFS answers, read: JSON. Pure; whatever is not as it should be is DATA_LOSS.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/format/hadoop_credentials.h"

namespace millrace::remote {

// {"FileStatus": {"length": 3, "type": "FILE", "modificationTime": 1700000000000, ...}}
Result<FileFacts> read_hdfs_facts(std::string_view json);

struct HdfsPage {
  std::vector<std::string> names;  // a file that is listed gives one empty name
  bool has_more = false;
};
// {"DirectoryListing": {"partialListing": {"FileStatuses": ...}, "remainingEntries": 5}}, or as
// older servers say it all at once: {"FileStatuses": {"FileStatus": [{"pathSuffix": "a"}, ...]}}
Result<HdfsPage> read_hdfs_page(std::string_view json);

// {"boolean": true}; none if the answer has nothing of the kind.
std::optional<bool> read_hdfs_boolean(std::string_view json);

// {"Token": {"urlString": "JAAEbWU..."}}; none of a server that gives none: {"Token": null}.
Result<std::optional<HadoopToken>> read_hdfs_token(std::string_view json);

struct HdfsException {
  std::string name;  // "FileNotFoundException"; empty if the text tells of none
  std::string message;
};
HdfsException read_hdfs_exception(std::string_view json);

}  // namespace millrace::remote

// What YARN has kept of a launcher that has ended, and that nobody else has: in its container the
// launcher of a job whose machines share no folder writes its journal, what it has to say and the
// tasks' logs into YARN's folder for logs (application.h). YARN gives them out as it is set up:
//
//   its NodeManager, by HTTP      while that keeps them: three hours by its usual setting
//   a server of logs, by HTTP     if the NodeManager sends there: once they are aggregated
//   an aggregated file            in HDFS, or in a folder that this machine sees
//
// Single-threaded; blocks, each call within time limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/files.h"
#include "millrace/base/result.h"

namespace millrace {

// Where it is asked for.
struct KeptByYarn {
  std::string container = {};                // of the launcher
  std::string web = {};                      // its NodeManager: "http://n1:8042"
  std::vector<std::string> aggregated = {};  // the folders that the file may be in
};

struct YarnLogsOptions {
  // What stands at a URL. Errors: NOT_FOUND if there is nothing.
  std::function<Result<std::string>(const std::string& url)> page = {};
  // Whoever opens the files below such a path. Errors: UNIMPLEMENTED for a file system that is not
  // known.
  std::function<Result<Files*>(const std::string& path)> files = {};
};

// What a NodeManager shows of a file of logs, or a server of logs: the file itself, without the
// words around it. Errors: DATA_LOSS for one that is cut off. Pure.
Result<std::string> log_in_page(std::string_view page);

// Brings "journal", "launcher.log" and "logs/map_1.log" of such names into the job's folder: as far
// as they are had, each whole. Says which; the rest is nowhere, or can't be asked for.
std::vector<std::string> bring_from_yarn(const YarnLogsOptions& options, const KeptByYarn& kept,
                                         const std::string& folder,
                                         const std::vector<std::string>& names);

}  // namespace millrace

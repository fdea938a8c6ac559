// Asks for the folder of a job's launcher where it is served (folder_server.h). Blocks, each call
// within time limits, and asks again what may pass. Single-threaded.
//
// Errors of all: UNAVAILABLE if nobody answers, PERMISSION_DENIED for a token that is none,
// NOT_FOUND for what is not there; UNIMPLEMENTED without libcurl.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/io/remote/curl_http.h"
#include "millrace/launch/yarn/folder_calls.h"

namespace millrace {

class FolderClient {
 public:
  FolderClient();

  // "host:port"
  struct Server {
    std::string address;
    std::string token;
  };
  // Appends to each of these files below `folder` what it lacks, in their order; those that are not
  // there are passed over.
  Status bring(const Server& server, const std::string& folder,
               const std::vector<std::string>& names);
  // A whole file, of a megabyte at most.
  Result<std::string> read(const Server& server, const std::string& name);
  Status write(const Server& server, const std::string& name, uint64_t offset,
               std::string_view bytes);
  // A line of scaling.h. Errors: NOT_FOUND if the launcher heeds none.
  Status wish(const Server& server, std::string_view line);
  // All that it has left is here.
  Status taken(const Server& server);

 private:
  Result<std::string> ask(const Server& server, const std::string& method, const std::string& path,
                          std::string_view body);

  remote::CurlHttp http_;
};

}  // namespace millrace

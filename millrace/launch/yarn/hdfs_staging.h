// A folder of HDFS that a job goes through, by WebHDFS: what is brought there, and had from there.
// Single-threaded; blocks, each call within time limits.
//
// Errors of all: those of remote::HdfsStore, with the path; UNIMPLEMENTED without libcurl.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/clock.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/io/remote/curl_http.h"
#include "millrace/io/remote/hdfs_files.h"
#include "millrace/launch/yarn/messages.h"

namespace millrace {

// How tokens are asked for, and named.
struct TokenTerms {
  std::string renewer = {};  // who is to prolong one
  bool name_numbers = true;  // of the NameNode's machine, and not its name
};

class HdfsStaging {
 public:
  // Who asks and how, `environment` tells (hdfs_settings.h). Errors: those of its settings.
  static Result<std::unique_ptr<HdfsStaging>> create(const remote::Environment& environment,
                                                     const Clock& clock, Random& random);

  // Which only its owner may look into.
  Status make_folder(const std::string& url);
  // Brings a file of this machine there, or a text; and says what YARN wants to know of it.
  Status put(const std::string& path, LocalResource& resource);
  Status put_text(std::string_view text, LocalResource& resource);
  // Brings there what there is of these files below a folder of this machine, by their names.
  Status put_all(const std::string& folder, const std::vector<std::string>& names,
                 const std::string& url);
  // Appends to the file at `path` what it lacks of the one at `url`.
  Status fetch(const std::string& url, const std::string& path);
  // A token that stands for who asks, as those who read `url` look for it; none where HDFS knows no
  // Kerberos. Errors: FAILED_PRECONDITION without a renewer; UNAVAILABLE too, for a NameNode whose
  // number can't be found.
  Result<std::optional<HadoopToken>> get_token(const std::string& url, const TokenTerms& terms);
  Status cancel_token(const std::string& url, const HadoopToken& token);
  // For whoever reads what others have left there.
  Files& files() { return files_; }
  // And all that is in it; one that is not there is fine. Then the folder around it, if nothing
  // else is there.
  Status remove_folder(const std::string& url);

 private:
  HdfsStaging(remote::HdfsSettings settings, const Clock& clock, Random& random)
      : http_(remote::HttpTerms()),
        retries_(clock, random, remote::RetryTerms()),
        store_(std::move(settings), http_, retries_),
        files_(store_) {}

  Status note_facts(LocalResource& resource);

  remote::CurlHttp http_;
  remote::Retries retries_;
  const remote::HdfsStore store_;
  remote::HdfsFiles files_;
};

}  // namespace millrace

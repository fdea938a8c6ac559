// HdfsSettings: who asks a NameNode, and how. Read from where Hadoop's own programs look.
//
//   user    HADOOP_USER_NAME, USER, LOGNAME: what a cluster without Kerberos believes
//   token   a delegation token out of the file that HADOOP_TOKEN_FILE_LOCATION names, as YARN
//           leaves one for the containers of a job; goes before the user
//   ports   hdfs://HOST:PORT may name the port of Hadoop's own protocol (8020 and 9000 are usual),
//           where nothing speaks HTTP: MILLRACE_HDFS_HTTP_PORT says which port does
#pragma once

#include <string>

#include "millrace/base/files.h"
#include "millrace/format/hadoop_credentials.h"
#include "millrace/io/remote/http.h"
#include "millrace/io/remote/url.h"

namespace millrace::remote {

struct HdfsSettings {
  std::string user;   // empty: the server's choice
  std::string token;  // as a request has it; empty: none
  int http_port = 0;  // for hdfs://; 0: from the path
};

// Errors: INVALID_ARGUMENT for a port that is none, FAILED_PRECONDITION if the file of tokens can't
// be read. No message has a secret.
Result<HdfsSettings> read_hdfs_settings(const Environment& environment, Files& local);

// Where WebHDFS is asked for what `address` names: "http://host:9870". 9870 is the port of hdfs://
// and webhdfs:// without one, and of hdfs:// with 8020 or 9000; 9871, with https, of swebhdfs://.
std::string hdfs_origin(const Address& address, int http_port);

// A token as a request has it: its four parts, each with its length, in base64 for addresses.
std::string hdfs_token_text(const HadoopToken& token);
// Errors: DATA_LOSS; no message has a secret.
Result<HadoopToken> parse_hdfs_token(std::string_view text);

}  // namespace millrace::remote

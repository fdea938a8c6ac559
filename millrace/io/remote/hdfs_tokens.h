// Tokens of HDFS: who has proved by Kerberos who they are may have one, which proves it for them
// elsewhere, for a time. Blocks, within the limits of the store's requests.
//
// Errors of both: those of HdfsStore::done(); DATA_LOSS for an answer that makes no sense. No
// message has a secret.
#pragma once

#include <optional>
#include <string>

#include "millrace/format/hadoop_credentials.h"
#include "millrace/io/remote/hdfs_store.h"

namespace millrace::remote {

// Of the file system of `place`; none where it knows no Kerberos. `renewer`: who may prolong it, as
// Kerberos calls them; empty: who asks.
Result<std::optional<HadoopToken>> get_hdfs_token(const HdfsStore& store, const HdfsPlace& place,
                                                  const std::string& renewer);
// From now on it proves nothing.
Status cancel_hdfs_token(const HdfsStore& store, const HdfsPlace& place, const HadoopToken& token);

// The token as Hadoop's own programs look for it, by what it is for: `path` is of the file system
// that gave it, and `host` is its NameNode's, by name or number, as the cluster is set up to call
// it.
HadoopToken hdfs_token_for(HadoopToken token, const std::string& path, const std::string& host);

}  // namespace millrace::remote

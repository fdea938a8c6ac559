// Where a YARN is and how one logs in there, from the files in which Hadoop keeps that: properties,
// each with a name and a value. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

using HadoopConf = std::map<std::string, std::string, std::less<>>;

// The properties of a file like yarn-site.xml. Whatever else it holds is passed over; of a name
// that comes twice the last value counts.
HadoopConf parse_hadoop_conf(std::string_view xml);

// The parts of a value with commas between them, but for empty ones.
std::vector<std::string> parse_hadoop_list(std::string_view list);

// Where YARN collects the logs of applications that have ended, if it does.
struct YarnLogFolders {
  std::string root = {};                   // "hdfs://nn:8020/tmp/logs"; empty: it does not
  std::vector<std::string> suffixes = {};  // below each user's; the first that is there counts
};
// Where those of an application may be, by this layout of Hadoop's and older ones.
std::vector<std::string> aggregated_folders(const YarnLogFolders& logs, const std::string& user,
                                            const std::string& application);

struct YarnAddresses {
  // Of each ResourceManager, the active one and those that stand by: "http://rm:8088".
  std::vector<std::string> web = {};
  // Where application masters log in, in the same order: "rm:8030".
  std::vector<std::string> schedulers = {};
  bool has_kerberos = false;  // curl logs in by the user's ticket
  // Of the ResourceManagers, as Kerberos calls them: "rm/host@REALM"; empty if nothing says so.
  std::string principal = {};
  // Tokens name servers by their number, and not by their name.
  bool tokens_name_numbers = true;
  YarnLogFolders logs = {};
};

// Errors: FAILED_PRECONDITION if the properties say of no ResourceManager where it is.
Result<YarnAddresses> yarn_addresses(const HadoopConf& conf);

}  // namespace millrace

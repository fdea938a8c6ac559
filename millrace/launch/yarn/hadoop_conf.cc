#include "millrace/launch/yarn/hadoop_conf.h"

#include <algorithm>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

constexpr int kMostExpansions = 20;  // as Hadoop has it: a value may name itself

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What stands between <tag> and </tag>, first found; nothing if it does not.
std::string_view inside(std::string_view xml, std::string_view tag) {
  const std::string begin = str_cat("<", tag, ">");
  const size_t at = xml.find(begin);
  if (at == std::string_view::npos) return "";
  xml.remove_prefix(at + begin.size());
  const size_t end = xml.find(str_cat("</", tag, ">"));
  return end == std::string_view::npos ? std::string_view() : trimmed(xml.substr(0, end));
}

std::string without_entities(std::string_view text) {
  std::string plain(text);
  for (const auto& [entity, letter] :
       {std::pair<std::string_view, const char*>{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}})
    for (size_t at = plain.find(entity); at != std::string::npos; at = plain.find(entity, at + 1))
      plain.replace(at, entity.size(), letter);
  return plain;
}

std::string without_comments(std::string_view xml) {
  std::string text;
  while (true) {
    const size_t begin = xml.find("<!--");
    text += xml.substr(0, begin);
    if (begin == std::string_view::npos) return text;
    const size_t end = xml.find("-->", begin);
    if (end == std::string_view::npos) return text;
    xml.remove_prefix(end + 3);
  }
}

// With ${other.property} replaced by its value.
std::string value_of(const HadoopConf& conf, std::string_view name) {
  const auto found = conf.find(name);
  if (found == conf.end()) return "";
  std::string value = found->second;
  for (int i = 0; i < kMostExpansions; ++i) {
    const size_t begin = value.find("${");
    const size_t end = value.find('}', begin == std::string::npos ? value.size() : begin);
    if (end == std::string::npos) break;
    const auto other = conf.find(std::string_view(value).substr(begin + 2, end - begin - 2));
    if (other == conf.end()) break;
    value.replace(begin, end + 1 - begin, other->second);
  }
  return value;
}

// "rm:8088" from a property of its own, or from the host and the port that Hadoop takes by itself.
std::string address(const HadoopConf& conf, std::string_view property, const std::string& suffix,
                    int usual_port) {
  std::string own = value_of(conf, str_cat("yarn.resourcemanager.", property, suffix));
  // "0.0.0.0" is where it listens, and no address for others.
  if (!own.empty() && !own.starts_with("0.0.0.0:")) return own;
  const std::string host = value_of(conf, str_cat("yarn.resourcemanager.hostname", suffix));
  if (host.empty() || host == "0.0.0.0") return "";
  const size_t colon = own.find(':');
  const std::string port = own.empty() ? std::to_string(usual_port) : own.substr(colon + 1);
  return str_cat(host, ":", port);
}

std::string value_or(const HadoopConf& conf, std::string_view name, std::string_view usual) {
  std::string value = value_of(conf, name);
  return value.empty() ? std::string(usual) : value;
}

// With the file system that paths without one are in.
std::string whole_path(const HadoopConf& conf, const std::string& path) {
  if (!path.starts_with("/")) return path;
  std::string system = value_of(conf, "fs.defaultFS");
  while (system.ends_with('/')) system.pop_back();
  return system.empty() || system.starts_with("file:") ? path : str_cat(system, path);
}

YarnLogFolders log_folders(const HadoopConf& conf) {
  if (value_of(conf, "yarn.log-aggregation-enable") != "true") return {};
  // What a format of files says of its own comes before what is said for all.
  constexpr std::string_view kOfFormat = "yarn.log-aggregation.TFile.remote-app-log-dir";
  constexpr std::string_view kOfAll = "yarn.nodemanager.remote-app-log-dir";
  const std::string root = value_or(conf, kOfFormat, value_or(conf, kOfAll, "/tmp/logs"));
  const std::string suffix = value_or(conf, str_cat(kOfAll, "-suffix"), "logs");
  YarnLogFolders logs{.root = whole_path(conf, root)};
  if (logs.root.starts_with("file:")) logs.root.erase(0, logs.root.find("/", 5));
  while (logs.root.starts_with("//")) logs.root.erase(0, 1);
  if (const std::string own = value_of(conf, str_cat(kOfFormat, "-suffix")); !own.empty())
    logs.suffixes.push_back(own);
  logs.suffixes.insert(logs.suffixes.end(), {suffix, str_cat(suffix, "-tfile")});
  return logs;
}

}  // namespace

std::vector<std::string> aggregated_folders(const YarnLogFolders& logs, const std::string& user,
                                            const std::string& application) {
  if (logs.root.empty()) return {};
  // Of "application_1700000000000_10007", "0007".
  constexpr size_t kDigits = 4;
  std::string number = application.substr(application.rfind('_') + 1);
  number = std::string(kDigits - std::min(kDigits, number.size()), '0') + number;
  const std::string bucket = number.substr(number.size() - kDigits);
  std::vector<std::string> folders;
  for (const std::string& suffix : logs.suffixes) {
    folders.push_back(
        str_cat(logs.root, "/", user, "/bucket-", suffix, "/", bucket, "/", application));
    folders.push_back(str_cat(logs.root, "/", user, "/", suffix, "/", application));
  }
  return folders;
}

HadoopConf parse_hadoop_conf(std::string_view xml) {
  constexpr std::string_view kEnd = "</property>";
  HadoopConf conf;
  const std::string text = without_comments(xml);
  std::string_view rest = text;
  for (size_t at = rest.find("<property>"); at != std::string_view::npos;
       at = rest.find("<property>")) {
    rest.remove_prefix(at);
    const std::string_view property = rest.substr(0, rest.find(kEnd));
    rest.remove_prefix(property.size());
    if (const std::string_view name = inside(property, "name"); !name.empty())
      conf[std::string(name)] = without_entities(inside(property, "value"));
  }
  return conf;
}

std::vector<std::string> parse_hadoop_list(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    if (const std::string_view part = trimmed(list.substr(0, end)); !part.empty())
      parts.emplace_back(part);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

Result<YarnAddresses> yarn_addresses(const HadoopConf& conf) {
  constexpr int kSchedulerPort = 8030;
  constexpr int kWebPort = 8088;
  constexpr int kSecureWebPort = 8090;
  const bool is_secure = value_of(conf, "yarn.http.policy") == "HTTPS_ONLY";
  YarnAddresses addresses;
  std::vector<std::string> suffixes;
  if (value_of(conf, "yarn.resourcemanager.ha.enabled") == "true")
    for (const std::string& id :
         parse_hadoop_list(value_of(conf, "yarn.resourcemanager.ha.rm-ids")))
      suffixes.push_back("." + id);
  if (suffixes.empty()) suffixes.emplace_back();
  for (const std::string& suffix : suffixes) {
    const std::string web = is_secure
                                ? address(conf, "webapp.https.address", suffix, kSecureWebPort)
                                : address(conf, "webapp.address", suffix, kWebPort);
    const std::string scheduler = address(conf, "scheduler.address", suffix, kSchedulerPort);
    if (web.empty() || scheduler.empty()) continue;
    addresses.web.push_back(str_cat(is_secure ? "https://" : "http://", web));
    addresses.schedulers.push_back(scheduler);
  }
  if (addresses.web.empty())
    return failed_precondition(
        "nothing says where YARN's ResourceManager is: yarn.resourcemanager.hostname is not set");
  addresses.has_kerberos = value_of(conf, "hadoop.http.authentication.type") == "kerberos" ||
                           value_of(conf, "hadoop.security.authentication") == "kerberos";
  addresses.principal = value_of(conf, "yarn.resourcemanager.principal");
  constexpr std::string_view kOwnHost = "_HOST";
  if (const size_t at = addresses.principal.find(kOwnHost); at != std::string::npos) {
    const std::string& scheduler = addresses.schedulers.front();
    addresses.principal.replace(at, kOwnHost.size(), scheduler.substr(0, scheduler.find(':')));
  }
  addresses.tokens_name_numbers = value_of(conf, "hadoop.security.token.service.use_ip") != "false";
  addresses.logs = log_folders(conf);
  return addresses;
}

}  // namespace millrace

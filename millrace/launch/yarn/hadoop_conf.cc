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

}  // namespace

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
  return addresses;
}

}  // namespace millrace

#include "millrace/launch/yarn/answers.h"

#include <algorithm>
#include <climits>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "millrace/base/str_cat.h"
#include "millrace/launch/yarn/first_words.h"

namespace millrace {
namespace {

using nlohmann::json;
using Stage = LauncherSight::Stage;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool says(std::string_view text, std::initializer_list<std::string_view> marks) {
  return std::ranges::any_of(
      marks, [&](std::string_view mark) { return text.find(mark) != std::string_view::npos; });
}

Status no_answer() {
  return unavailable("what answers there is no ResourceManager of YARN, or one that just starts");
}

// An object below `key`. Errors: UNAVAILABLE.
Result<json> parse_object(std::string_view text) {
  json object = json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object()) return no_answer();
  return object;
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

// "container_..." of "http://n1:8042/node/containerlogs/container_.../me"
std::string container_in(std::string_view url) {
  const size_t at = url.find("/container_");
  if (at == std::string_view::npos) return "";
  url.remove_prefix(at + 1);
  return std::string(url.substr(0, url.find('/')));
}

// "http://n1:8042" of the same.
std::string server_in(const std::string& url) {
  const size_t host = url.find("://");
  return host == std::string::npos ? "" : url.substr(0, url.find('/', host + 3));
}

// The message of {"RemoteException": {"message": "..."}}, or of {"message": "..."}, as what stands
// before the ResourceManager says it; or a line of whatever it is.
std::string message_of(std::string_view body) {
  const json object = json::parse(body.begin(), body.end(), nullptr, false);
  if (!object.is_object()) return std::string(body.starts_with("<") ? "" : first_words(body));
  const auto inner = object.find("RemoteException");
  const bool is_remote = inner != object.end() && inner->is_object();
  return std::string(first_words(text_of(is_remote ? *inner : object, "message")));
}

// The text between a mark and the end of its line; empty if there is no such mark.
std::string_view after(std::string_view text, std::string_view mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return "";
  text.remove_prefix(at + mark.size());
  return text.substr(0, text.find('\n'));
}

// Why the first container ended, of what YARN says at length.
std::string end_of_master(const ApplicationState& application) {
  const std::string_view said = application.diagnostics;
  const std::string_view code = after(said, "exitCode: ");
  if (code.empty()) {
    const std::string_view words = first_words(said);
    return str_cat("its launcher has ended", words.empty() ? " (" : ": ",
                   words.empty() ? application.state : words, words.empty() ? ")" : "");
  }
  // What the shell said that was to start it.
  const std::string_view shell = after(said, "prelaunch.err :\n");
  return str_cat("its launcher has ended with code ", code, shell.empty() ? "" : ": ", shell);
}

// Of a job without HDFS. What YARN says at length has a secret in it.
std::string files_not_had(std::string_view said) {
  const std::string_view fault = after(said, "java.net.");
  const bool is_plain = !fault.empty() && fault.find('/') == std::string_view::npos;
  return str_cat(
      "its launcher's machine could not have the job's files from where it was submitted",
      is_plain ? " (" : "", is_plain ? fault : "", is_plain ? ")" : "",
      ": that has to be reached from there until submit has ended (MILLRACE_HOST says by "
      "which address)");
}

std::string wait_of(const ApplicationState& application) {
  const std::string& said = application.diagnostics;
  if (says(said, {"AM container is launched", "AM is launched"}))
    return "its launcher is being started";
  if (says(said, {"AM resource limit", "AMResourceLimit"}))
    return "its queue runs as many jobs as it may (AM resource limit)";
  if (says(said, {"activating application", "not yet activated", "waiting for resources"}) ||
      application.state == "ACCEPTED")
    return "no machine is free for its launcher";
  return "YARN has not looked at it yet";
}

// Of what YARN gives at most; nothing if it has no name for them.
std::optional<int> gpus_in(const json& most) {
  const auto all = most.find("resourceInformations");
  if (all == most.end() || !all->is_object() || !all->contains("resourceInformation")) return {};
  const json& list = (*all)["resourceInformation"];
  if (!list.is_array()) return {};
  for (const json& each : list)
    if (each.is_object() && text_of(each, "name") == kGpuResource)
      return static_cast<int>(std::min<int64_t>(number_of(each, "value"), INT_MAX));
  return {};
}

}  // namespace

Result<NewApplication> parse_new_application(std::string_view text) {
  MR_ASSIGN(const json object, parse_object(text));
  NewApplication application{.id = text_of(object, "application-id")};
  const auto most = object.find("maximum-resource-capability");
  if (application.id.empty() || most == object.end() || !most->is_object()) return no_answer();
  application.most = {.megabytes = number_of(*most, "memory"),
                      .cores = static_cast<int>(number_of(*most, "vCores")),
                      .gpus = gpus_in(*most)};
  return application;
}

Result<ApplicationState> parse_application(std::string_view text) {
  MR_ASSIGN(const json object, parse_object(text));
  const auto app = object.find("app");
  if (app == object.end() || !app->is_object() || text_of(*app, "state").empty())
    return no_answer();
  return ApplicationState{.state = text_of(*app, "state"),
                          .final_status = text_of(*app, "finalStatus"),
                          .diagnostics = text_of(*app, "diagnostics"),
                          .master_container = container_in(text_of(*app, "amContainerLogs")),
                          .master_web = server_in(text_of(*app, "amContainerLogs")),
                          .address = text_of(*app, "amRPCAddress")};
}

Result<YarnRacks> parse_nodes(std::string_view text) {
  MR_ASSIGN(const json object, parse_object(text));
  const auto nodes = object.find("nodes");
  if (nodes == object.end()) return no_answer();
  YarnRacks racks;
  // Of a cluster without any it is null.
  if (!nodes->is_object() || !nodes->contains("node") || !(*nodes)["node"].is_array()) return racks;
  for (const json& node : (*nodes)["node"]) {
    if (!node.is_object()) continue;
    const std::string id = text_of(node, "id");  // "n1:45454"
    racks[id.substr(0, id.rfind(':'))] = text_of(node, "rack");
  }
  return racks;
}

std::string to_text(const YarnRacks& racks) {
  std::string text;
  for (const auto& [node, rack] : racks) str_append(&text, node, " ", rack, "\n");
  return text;
}

YarnRacks parse_racks(std::string_view text) {
  YarnRacks racks;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || blank == 0 || blank + 1 == line.size()) continue;
    racks.emplace(line.substr(0, blank), line.substr(blank + 1));
  }
  return racks;
}

Result<bool> parse_is_active(std::string_view text) {
  MR_ASSIGN(const json object, parse_object(text));
  const auto info = object.find("clusterInfo");
  if (info == object.end() || !info->is_object()) return no_answer();
  return text_of(*info, "haState") == "ACTIVE";
}

bool is_decided(const ApplicationState& application) {
  return !is_one_of(application.state, {"NEW", "NEW_SAVING", "SUBMITTED"});
}

bool was_refused(const ApplicationState& application) {
  return application.state == "FAILED" && application.master_container.empty();
}

bool is_over(const ApplicationState& application) {
  return is_one_of(application.state, {"FINISHED", "FAILED", "KILLED"});
}

LauncherSight launcher_sight(const ApplicationState& application) {
  if (application.state == "RUNNING") return {.stage = Stage::running};
  if (!is_over(application)) return {.stage = Stage::pending, .waits = {wait_of(application)}};
  LauncherSight sight{.stage = Stage::gone};
  const std::string_view words = first_words(application.diagnostics);
  if (application.state == "KILLED") {
    sight.cancelled = true;
    sight.why = words.empty() ? "YARN, which was told to kill it" : words;
  } else if (says(application.diagnostics, {"exitCode: -1000"})) {
    const bool is_by_http = says(application.diagnostics, {" http://"});
    sight.why = is_by_http ? files_not_had(application.diagnostics) : end_of_master(application);
  } else if (says(application.diagnostics, {"exitCode: -100", "lost node"})) {
    sight.why = "the machine where its launcher ran is lost";
  } else if (says(application.diagnostics, {"exitCode: -102"})) {
    sight.why = "preempted: YARN gave its launcher's container to another job";
  } else if (says(application.diagnostics, {"exitCode: -103", "exitCode: -104"})) {
    sight.why = "out of memory: YARN has ended its launcher";
  } else if (application.state == "FINISHED" && application.final_status == "SUCCEEDED") {
    sight.why = "YARN says that it has succeeded, and its journal does not";
  } else {
    sight.why = end_of_master(application);
  }
  return sight;
}

LauncherSight forgotten_launcher() {
  return {.stage = Stage::gone,
          .why = "its launcher has ended without a word, and YARN no longer knows of it"};
}

Status yarn_fault(int http_code, std::string_view body) {
  const std::string words = message_of(body);
  const std::string told = words.empty() ? str_cat("HTTP ", http_code) : words;
  if (says(body, {"StandbyException", "This is standby RM"}))
    return unavailable("this ResourceManager only stands by");
  if (http_code == 401)
    return error(Code::unauthenticated, "the login does not hold, or no longer: ", told,
                 "; log in again (kinit)");
  if (says(body, {"unknown queue", "non-leaf queue", "unavailable queue", "to a non-leaf"}))
    return invalid("queue: ", told);
  if (http_code == 403 ||
      says(body, {"AccessControlException", "does not have permission", "cannot submit"}))
    return error(Code::permission_denied, "the login may not do this: ", told,
                 "; ask whoever runs the cluster, or choose another queue");
  if (says(body, {"InvalidResourceRequestException", "Invalid resource request"}))
    return invalid("the cluster has no machines for this job: ", told);
  if (says(body, {"Failed to renew token"}))
    return failed_precondition("YARN's ResourceManager can't log in to the job's HDFS: ", told,
                               "; ask whoever runs the cluster");
  if (http_code == 404) return not_found(told);
  if (http_code >= 500 || http_code == 307 || http_code == 408 || http_code == 429)
    return unavailable("YARN's ResourceManager can't answer: ", told);
  if (http_code == 400) return invalid("YARN does not take the job: ", told);
  return error(Code::unknown, "YARN: ", told);
}

std::string missing_login(std::string_view said) {
  std::string_view why = after(said, "gss_init_sec_context() failed: ");
  while (why.ends_with(' ') || why.ends_with('.') || why.ends_with('\r')) why.remove_suffix(1);
  // What comes behind is advice for who writes programs.
  return std::string(why.substr(0, why.find(". ")));
}

Status curl_fault(int code, std::string_view said) {
  // Of curl's manual: no such host, refused, timeout, empty answer, and broken connections.
  constexpr int kPassing[] = {5, 6, 7, 18, 28, 35, 52, 55, 56};
  if (said.starts_with("curl: "))
    said.remove_prefix(said.find(") ") == said.npos ? 6 : said.find(") ") + 2);
  const std::string_view words = said.substr(0, said.find('\n'));
  if (std::ranges::find(kPassing, code) != std::end(kPassing))
    return unavailable("YARN's ResourceManager does not answer: ", words);
  return error(Code::unknown, "curl: ", words.empty() ? "it failed without a word" : words);
}

}  // namespace millrace

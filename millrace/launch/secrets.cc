#include "millrace/launch/secrets.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using nlohmann::json;

bool has_variable(const std::vector<EnvironmentEntry>& environment, const std::string& name) {
  return std::ranges::find(environment, name, &EnvironmentEntry::first) != environment.end();
}

Status check_sources(const SecretSources& sources) {
  for (const auto& [variable, source] : sources) MR_TRY(check_secret(variable, source));
  return {};
}

// What JSON, and so whatever passes it on, can hold.
bool is_utf8(std::string_view text) {
  const std::string written =
      json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  const json read = json::parse(written, nullptr, false);
  return read.is_string() && read.get_ref<const std::string&>() == text;
}

}  // namespace

std::vector<RoleSecret> secrets_of(const JobSpec& job, const RoleSpec& role) {
  std::vector<RoleSecret> secrets;
  for (const auto& [variable, source] : job.secrets)
    if (!role.secrets.contains(variable)) secrets.push_back({variable, source, variable});
  for (const auto& [variable, source] : role.secrets)
    secrets.push_back({variable, source, str_cat(role.name, ".", variable)});
  std::ranges::sort(secrets, {}, &RoleSecret::variable);
  return secrets;
}

std::vector<RoleSecret> secrets_of(const JobSpec& job) {
  std::vector<RoleSecret> all;
  for (const RoleSpec& role : job.roles)
    for (RoleSecret& secret : secrets_of(job, role))
      if (std::ranges::find(all, secret.key, &RoleSecret::key) == all.end())
        all.push_back(std::move(secret));
  return all;
}

Status check_secrets(const JobSpec& job) {
  MR_TRY(check_sources(job.secrets));
  for (const RoleSpec& role : job.roles) {
    MR_TRY(check_sources(role.secrets).with(str_cat("role ", role.name)));
    for (const RoleSecret& secret : secrets_of(job, role))
      if (has_variable(job.environment, secret.variable) ||
          has_variable(role.environment, secret.variable))
        return invalid("variable ", secret.variable, " of role ", role.name,
                       " is in env and in secrets; leave it out of env");
  }
  return {};
}

Status check_no_cluster_secrets(const JobSpec& job, std::string_view where) {
  for (const RoleSecret& secret : secrets_of(job))
    if (secret.source.kind == SecretSource::Kind::kubernetes)
      return invalid("secrets.", secret.variable, ": ", to_text(secret.source),
                     " is had on Kubernetes alone; ", where,
                     " name a variable of yours or a file: {env: NAME}, {file: PATH}");
  return {};
}

Status check_secret_value(std::string_view value) {
  if (value.empty()) return invalid("it is empty");
  if (value.size() > kLongestSecret)
    return invalid("it has ", value.size(), " bytes; a variable holds ", kLongestSecret);
  if (value.find('\0') != std::string_view::npos || !is_utf8(value))
    return invalid("it is no text in UTF-8; write it in base64, say");
  return {};
}

JobSpec with_secrets(JobSpec job, const SecretValues& values) {
  for (RoleSpec& role : job.roles) {
    for (const RoleSecret& secret : secrets_of(job, role))
      if (const auto value = values.find(secret.key); value != values.end())
        role.environment.emplace_back(secret.variable, value->second);
  }
  job.secrets.clear();
  for (RoleSpec& role : job.roles) role.secrets.clear();
  return job;
}

std::string secrets_text(const JobSpec& job, const RoleSpec& role) {
  std::string text;
  for (const RoleSecret& secret : secrets_of(job, role))
    str_append(&text, text.empty() ? "" : ", ", secret.variable, " (", to_text(secret.source), ")");
  return text;
}

std::string secret_values_text(const SecretValues& values) { return json(values).dump() + "\n"; }

Result<SecretValues> parse_secret_values(std::string_view text) {
  const json object = json::parse(text.begin(), text.end(), nullptr, false);
  const auto is_text = [](const json& value) { return value.is_string(); };
  if (!object.is_object() || !std::ranges::all_of(object, is_text))
    return invalid("what is kept of the job's secrets makes no sense");
  return object.get<SecretValues>();
}

}  // namespace millrace

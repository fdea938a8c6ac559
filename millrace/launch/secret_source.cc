#include "millrace/launch/secret_source.h"

#include <algorithm>
#include <string_view>

#include "millrace/cluster/environment.h"
#include "millrace/launch/reach.h"

namespace millrace {
namespace {

constexpr std::string_view kSmall = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kLarge = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool is_made_of(std::string_view text, std::initializer_list<std::string_view> letters) {
  return std::ranges::all_of(text, [&](char c) {
    return std::ranges::any_of(
        letters, [&](std::string_view some) { return some.find(c) != std::string_view::npos; });
  });
}

// As shells have it.
bool is_plain_variable(std::string_view name) {
  return !name.empty() && !is_made_of(name.substr(0, 1), {kDigits}) &&
         is_made_of(name, {kSmall, kLarge, kDigits, "_"});
}

}  // namespace

std::string to_text(const SecretSource& source) {
  switch (source.kind) {
    case SecretSource::Kind::environment:
      return str_cat("environment variable ", source.from);
    case SecretSource::Kind::file:
      return str_cat("file ", source.from);
    case SecretSource::Kind::kubernetes:
      break;
  }
  return str_cat("Secret ", source.from);
}

Status check_secret(const std::string& variable, const SecretSource& source) {
  if (!is_plain_variable(variable))
    return invalid("secrets: '", variable.substr(0, 80),
                   "' is no name of a variable: letters, digits and underscores, no digit first");
  if (is_set_by_launchers(variable) || variable == kTokenVariable)
    return invalid("secrets: variable ", variable, " is set for each task by the launcher");
  if (source.kind == SecretSource::Kind::environment && !is_plain_variable(source.from))
    return invalid("secrets.", variable, ": '", source.from.substr(0, 80),
                   "' is no name of a variable: letters, digits and underscores, no digit first");
  if (source.kind == SecretSource::Kind::file && source.from.empty())
    return invalid("secrets.", variable, ": no file is named");
  if (source.kind != SecretSource::Kind::kubernetes) return {};
  const auto [name, key] = secret_of_cluster(source);
  const bool is_name = !name.empty() && name.size() <= 253 &&
                       is_made_of(name, {kSmall, kDigits, "-."}) &&
                       is_made_of(name.substr(0, 1), {kSmall, kDigits});
  const bool is_key =
      !key.empty() && key.size() <= 253 && is_made_of(key, {kSmall, kLarge, kDigits, "-._"});
  if (is_name && is_key) return {};
  return invalid("secrets.", variable, ": '", source.from.substr(0, 80),
                 "' is no key of a Secret; write NAME/KEY, for example db/password");
}

SecretOfCluster secret_of_cluster(const SecretSource& source) {
  const size_t slash = source.from.find('/');
  if (slash == std::string::npos) return {.name = source.from, .key = ""};
  return {.name = source.from.substr(0, slash), .key = source.from.substr(slash + 1)};
}

}  // namespace millrace

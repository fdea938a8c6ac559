#include "millrace/launch/secrets_section.h"

#include <optional>

namespace millrace::job_file {
namespace {

using Kind = SecretSource::Kind;
using Source = std::optional<SecretSource>;

Status put_source(const YamlValue& value, Kind kind, Source& source) {
  if (source) return value.refuse("a secret has one source: env, file or kubernetes");
  MR_ASSIGN(std::string from, value.text());
  source = SecretSource{.kind = kind, .from = std::move(from)};
  return {};
}

constexpr Key<Source> kSecretKeys[] = {
    {"env", kText, "", "A variable of the environment that the job is started or submitted in.",
     [](const YamlValue& value, Source& source) {
       return put_source(value, Kind::environment, source);
     }},
    {"file", kText, "", "A file there, but for the newline at its end.",
     [](const YamlValue& value, Source& source) { return put_source(value, Kind::file, source); }},
    {"kubernetes", kText, "", "NAME/KEY of a Secret in the job's namespace, on Kubernetes alone.",
     [](const YamlValue& value, Source& source) {
       return put_source(value, Kind::kubernetes, source);
     }},
};

}  // namespace

Status put_secrets(const YamlValue& value, SecretSources& sources) {
  MR_ASSIGN(const std::vector<YamlValue::Entry> entries, value.entries());
  for (const YamlValue::Entry& entry : entries) {
    // Who wrote the value itself there is not to see it again in an error.
    if (!entry.value.is_map())
      return value.refuse("'", entry.key,
                          "' says where the value is had from, and never the value: {env: NAME}, "
                          "{file: PATH} or {kubernetes: NAME/KEY}");
    Source source;
    MR_TRY(read_keys<Source>(entry.value, kSecretKeys, source));
    if (!source) return entry.value.refuse("no source; write {env: NAME}, say");
    const Status fits = check_secret(entry.key, *source);
    if (!fits.ok()) return value.refuse(fits.message());
    sources[entry.key] = std::move(*source);
  }
  return {};
}

Json secrets_json(const SecretSources& sources) {
  Json json = Json::object();
  for (const auto& [variable, source] : sources)
    json[variable] = {
        {std::string(kSecretKeys[static_cast<size_t>(source.kind)].name), source.from}};
  return json;
}

Json secret_schema() {
  Json schema = schema_of<Source>(kSecretKeys);
  schema["minProperties"] = schema["maxProperties"] = 1;
  return schema;
}

std::string secret_reference() { return reference_of<Source>(kSecretKeys); }

}  // namespace millrace::job_file

// `secrets` of a job file: what stands there, and how it is written down again. Part of job_file.h;
// pure.
#pragma once

#include "millrace/launch/job_file_key.h"
#include "millrace/launch/secret_source.h"

namespace millrace::job_file {

inline constexpr ValueType kSecrets{
    "variables with keys",
    R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/secret"}})"};

// Errors: as of job files.
Status put_secrets(const YamlValue& value, SecretSources& sources);
Json secrets_json(const SecretSources& sources);

Json secret_schema();
std::string secret_reference();

}  // namespace millrace::job_file

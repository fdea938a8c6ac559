// The sections `kubernetes`, `slurm` and `yarn` of a job file: what stands there, and how it is
// written down again. Part of job_file.h; pure.
#pragma once

#include "millrace/launch/job_file_key.h"
#include "millrace/launch/place_wishes.h"

namespace millrace::job_file {

inline constexpr ValueType kKubernetesSection{"keys", R"({"$ref": "#/$defs/kubernetes"})"};
inline constexpr ValueType kSlurmSection{"keys", R"({"$ref": "#/$defs/slurm"})"};
inline constexpr ValueType kYarnSection{"keys", R"({"$ref": "#/$defs/yarn"})"};

// Errors: as of job files.
Status put_section(const YamlValue& value, KubernetesWishes& wishes);
Status put_section(const YamlValue& value, SlurmWishes& wishes);
Status put_section(const YamlValue& value, YarnWishes& wishes);

Json section_json(const KubernetesWishes& wishes);
Json section_json(const SlurmWishes& wishes);
Json section_json(const YarnWishes& wishes);

// Under their names among the schema's definitions.
void add_section_schemas(Json& definitions);
std::string section_references();

}  // namespace millrace::job_file

// Services of docker compose (a compose file): each is a role, or a task of one if it is told so by
// TF_CONFIG or by --job_name and --task_index.
#pragma once

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// True for a document with services.
bool is_compose_file(const YamlValue& document);

// Errors: INVALID_ARGUMENT with the place.
Status import_compose_file(const YamlValue& document, Import& import);

}  // namespace millrace

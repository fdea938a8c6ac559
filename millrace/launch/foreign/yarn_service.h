// A service of YARN (a Yarnfile): JSON with a list of components.
#pragma once

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// True for a document whose `components` is a list.
bool is_yarn_service(const YamlValue& document);

// Errors: INVALID_ARGUMENT with the place.
Status import_yarn_service(const YamlValue& document, Import& import);

}  // namespace millrace

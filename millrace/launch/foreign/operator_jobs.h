// Jobs as operators of Kubernetes take them: TFJob and its kin (v1, v1beta1 and v1beta2), JobSet,
// and built-in Jobs, each of which is a role. A file may hold several documents.
#pragma once

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// True for a document with apiVersion and kind.
bool is_kubernetes_object(const YamlValue& document);

// Reads one document into import. Kinds that are no jobs are left out. Errors: INVALID_ARGUMENT
// with the place, for values that can't be and for a second job.
Status import_kubernetes_object(const YamlValue& document, Import& import);

}  // namespace millrace

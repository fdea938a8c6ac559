// The files of an application of Apache Slider: resources.json (which components, how many, how
// large), appConfig.json (which program, its settings) and metainfo.json (what it is called).
#pragma once

#include "millrace/base/result.h"
#include "millrace/launch/foreign/import_account.h"
#include "millrace/launch/yaml_value.h"

namespace millrace {

// True for one of the three.
bool is_slider_file(const YamlValue& document);

// Reads one of them; they may come in any order. Errors: INVALID_ARGUMENT with the place.
Status import_slider_file(const YamlValue& document, Import& import);

// After the last file: makes workers of chiefworkers, as the TensorFlow package does, whose list of
// workers begins with them.
void finish_slider(Import& import);

}  // namespace millrace

// TF_CONFIG of the tasks of a cluster, one or all of them: as JSON, or set by scripts that are
// sourced before the program is started, such as `millrace config` writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/cluster/tf_config.h"
#include "millrace/launch/foreign/import_account.h"

namespace millrace {

struct NamedConfig {
  std::string where;  // "config_map_0.sh:1"
  TfConfig config;
};

// True for a script that sets TF_CONFIG.
bool sets_tf_config(std::string_view text);

// What a script sets: TF_CONFIG, and other variables, which go into the job's environment. Errors:
// INVALID_ARGUMENT with the line.
Status read_config_script(const SourceFile& file, Import& import,
                          std::vector<NamedConfig>& configs);

// The roles of a cluster that all of them name. Errors: INVALID_ARGUMENT if they name different
// ones, or tasks that are not 0, 1 ... of their job.
Status import_tf_configs(const std::vector<NamedConfig>& configs, Import& import);

}  // namespace millrace

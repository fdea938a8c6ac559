// The commands of a shell script as far as they are plain words, for reading what scripts of other
// programs set and start. Nothing is expanded and nothing is run: "$HOME" stays "$HOME".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"

namespace millrace {

struct ShellCommand {
  std::string where;  // "job.sh:7"
  // Without quotes; redirections are not among them. {"#SBATCH", ...} for such a comment.
  std::vector<std::string> words;
  std::string here = {};  // what stands below it, up to the word after <<
};

// Commands end with a line, ';', '&', '|' and what is made of them; a backslash joins lines.
// At most YamlValue::kLargestFile. Errors: INVALID_ARGUMENT with the line of a quote that is not
// closed, and of text below << that has no end.
Result<std::vector<ShellCommand>> read_shell_script(std::string_view text, std::string_view file);

}  // namespace millrace

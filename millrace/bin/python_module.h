// Verbs that the Python package answers: this process becomes its interpreter.
#pragma once

#include <string>
#include <vector>

namespace millrace {

// Runs `python3 -m MODULE WORD...` in place of this process. The interpreter is the one in the
// command's own folder (a virtual environment's, say), or else the first on PATH; the package is
// that beside the command, in a build's folders, or the one on the interpreter's path. Returns
// kMisused, having complained for `verb`, only if there is no interpreter.
int become_python(const std::string& verb, const std::string& module,
                  const std::vector<std::string>& words);

}  // namespace millrace

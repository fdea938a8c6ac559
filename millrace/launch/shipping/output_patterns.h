// Which files of a task's folder are its outputs. Pure.
//
//   log.txt      that file; or, of a folder, all that is in it
//   model/*      all in model/, and below that; * and ? pass over no "/"
//   part-[0-9]*  by their names
//
// What travelled there does not come back, unless a pattern begins with its very name.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

// `path`: of a file, from the task's folder on; `shipped`: what lies there from the start.
bool is_output(std::string_view path, const std::vector<std::string>& patterns,
               const std::set<std::string, std::less<>>& shipped);

}  // namespace millrace

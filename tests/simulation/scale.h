// Scale: what a cluster of so many tasks says to itself, counted: the table of
// docs/design/scale.md.
#pragma once

#include <string>
#include <vector>

#include "millrace/op/registry.h"

namespace millrace::simulation {

// Rows of a table in Markdown, one for each size and each of: one session, its first step (which
// registers the graph), a further step, one lost task, closing. The step takes a value from the
// master's task to all others and sums what they make of it.
std::string scale_table(const OpRegistry& ops, const std::vector<int>& sizes);

}  // namespace millrace::simulation

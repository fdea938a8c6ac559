// Every op that Millrace knows, registered explicitly: reading all.cc tells what a program can do.
#pragma once

#include "millrace/op/registry.h"

namespace millrace {

// Adds every family. Errors: those of OpRegistry::add, which mean that an op of ours is wrong.
Status register_all_ops(OpRegistry& ops);

}  // namespace millrace

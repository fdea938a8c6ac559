// What nodes may be called, and which names are still free.
//
// One rule for all that make nodes, TensorFlow's: letters, digits and _ . - / >, the first a
// letter, a digit, "." or "_". Names that begin with "_" are the runtime's own; a program gets
// none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"

#include "millrace/base/status.h"

namespace millrace {

// True if `text` may stand inside of a name, as the name of an inner scope does.
bool is_name_part(std::string_view text);
// True for what a program may call a node or an outermost scope.
bool is_program_name(std::string_view name);
// INVALID_ARGUMENT, saying what is allowed, for what no node may be called.
Status check_node_name(std::string_view name);

// The names that were given out in one graph, of nodes and of scopes. Names that differ only in
// case count as equal, because some file systems think so.
//
// It keeps 64-bit hashes in place of the names, and none of x_1, x_2 … but how far they go: a
// million names that programs choose cost 19 MB however long they are, and a million that are
// numbered nothing. Of two names with equal hashes the second gets a number that it would not need,
// in each process that builds the graph; among a million names that happens once in ten million
// graphs. A value; not thread-safe.
class NameClaims {
 public:
  // True for a name that somebody has who did not ask here.
  using IsTaken = absl::FunctionRef<bool(std::string_view)>;

  // `name` if it is free, else name_1, name_2 …; taken from then on.
  std::string claim(std::string_view name, IsTaken is_taken = nobody);
  // What `claim` would give.
  std::string peek(std::string_view name, IsTaken is_taken = nobody) const;

 private:
  static bool nobody(std::string_view) { return false; }
  // True if it was given out, as it is or by its number.
  bool is_claimed(std::string_view name, uint64_t hash) const;
  // The first free number from `number` on.
  int free_number(std::string_view name, int number, IsTaken is_taken) const;

  // Of names in lower case.
  absl::flat_hash_set<uint64_t> claimed_;  // those that one asked for
  // Those that more asked for -> the number at which to look for the next free one. All smaller
  // numbers are taken.
  absl::flat_hash_map<uint64_t, int32_t> next_;
};

}  // namespace millrace

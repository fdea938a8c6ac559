// Secrets by which processes of one job know each other: made, and compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/random.h"
#include "millrace/base/str_cat.h"

namespace millrace {

// 256 bits, as digits: fit for a URL, a variable and a word of a command.
inline std::string new_secret(Random& random) {
  std::string secret;
  for (int i = 0; i < 4; ++i) str_append(&secret, random.next());
  return secret;
}

// Whether what a stranger shows is the secret that it should be. Takes as long for a guess that is
// nearly right as for one that is all wrong; only the length shows.
inline bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace millrace

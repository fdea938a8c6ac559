// Whether what a stranger shows is the secret that it should be. Takes as long for a guess that is
// nearly right as for one that is all wrong; only the length shows. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace millrace {

inline bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace millrace

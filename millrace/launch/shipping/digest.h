// SHA-256, by which content is known: of bytes that come one after the other, and of open files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace {

class Digest {
 public:
  Digest();
  void add(std::string_view bytes);
  // 64 digits, in small letters. The last call.
  std::string hex();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;  // of OpenSSL
};

bool is_digest(std::string_view text);

// Of all that is in an open file, wherever its position is. Errors: UNAVAILABLE with what the
// system says.
Result<std::string> digest_of_file(int descriptor);

}  // namespace millrace

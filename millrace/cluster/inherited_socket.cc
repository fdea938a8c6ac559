#include "millrace/cluster/inherited_socket.h"

#include <charconv>

#include "millrace/cluster/environment.h"

namespace millrace {

Result<std::optional<int>> inherited_socket(const char* descriptor,
                                            const char* address_of_descriptor,
                                            std::string_view address) {
  std::optional<int> inherited;
  if (descriptor == nullptr || address_of_descriptor == nullptr) return inherited;
  if (address != address_of_descriptor) return inherited;
  std::string_view text = descriptor;
  int number = -1;
  auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc() || stop != text.data() + text.size() || number < 0)
    return invalid(kListenDescriptorVariable, "=", text.substr(0, 80),
                   " is no descriptor; unset it, or let `millrace run` set it");
  inherited = number;
  return inherited;
}

}  // namespace millrace

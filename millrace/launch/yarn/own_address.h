// By which number other machines may reach this one. Asks the system; sends nothing.
#pragma once

#include <string>

namespace millrace {

// The address of this machine that the way to `url` ("http://rm:8088") begins at: machines around
// that one have a way back. Empty if there is no way.
std::string address_towards(const std::string& url);

}  // namespace millrace

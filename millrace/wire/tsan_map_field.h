// In builds with g++'s thread sanitizer this is included before everything else (CMakeLists.txt).
//
// There, protobuf's map_field.h gives its classes two more members, which the installed
// libprotobuf, built without the sanitizer, knows nothing of: whatever the library does to a map
// then reads and writes the wrong bytes. Seen without the macro, the header describes the library
// that we link.
#pragma once

#if defined(__SANITIZE_THREAD__)

// The standard library's headers, however, must see it.
#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#pragma push_macro("__SANITIZE_THREAD__")
#undef __SANITIZE_THREAD__
#include <google/protobuf/map_field.h>
#pragma pop_macro("__SANITIZE_THREAD__")

#endif

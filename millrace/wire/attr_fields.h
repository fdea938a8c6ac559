// Field numbers of AttrValue and of what it is made of. Private to this room.
#pragma once

#include <cstdint>

namespace millrace::wire::attr_fields {

// AttrValue; ListValue has the same numbers for its elements.
enum ValueField : uint32_t {
  kList = 1,
  kString = 2,
  kInt = 3,
  kFloat = 4,
  kBool = 5,
  kType = 6,
  kShape = 7,
  kTensor = 8,
  kPlaceholder = 9,
  kFunc = 10,
  kListFunc = 9,
};
// NameAttrList, and the entries of maps.
constexpr int kFuncName = 1;
constexpr int kFuncAttr = 2;
constexpr int kEntryKey = 1;
constexpr int kEntryValue = 2;

}  // namespace millrace::wire::attr_fields

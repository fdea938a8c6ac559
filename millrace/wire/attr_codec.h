// Attribute values on the wire: AttrValue, NameAttrList and the maps that hold them. Private to this
// room.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/tensor/attr_value.h"
#include "millrace/wire/tensor_fields.h"
#include "millrace/wire/wire_format.h"

namespace millrace::wire {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

// An AttrValue message. `depth` counts the functions around it.
Status read_attr_value(Reader reader, Budget& budget, int depth, AttrValue* out);
// One entry of a map<string, AttrValue>, appended. Once all are there, only the last of each name
// counts.
Status read_attr_entry(Reader reader, Budget& budget, int depth, Attrs* out);
void keep_last_of_equal_names(Attrs* attrs);

// As field `number` of the message being written.
void put_attr_value(std::string* out, int number, const AttrValue& value);
void put_attr_entry(std::string* out, int number, std::string_view name, const AttrValue& value);

// About how many bytes a value takes when written.
size_t expected_attr_bytes(const AttrValue& value);

}  // namespace millrace::wire

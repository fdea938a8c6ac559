// Attribute values on the wire: AttrValue, NameAttrList and the maps that hold them. Private to
// this room.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/format/wire_format.h"
#include "millrace/tensor/attr_value.h"
#include "millrace/wire/tensor_fields.h"

namespace millrace::wire {

using Attrs = std::vector<std::pair<std::string, AttrValue>>;

// What reading one message needs to remember. Graphs repeat the same few attribute values in node
// after node; those that would allocate are shared, which saves time and, for as long as the graph
// lives, memory.
class AttrContext {
 public:
  explicit AttrContext(const DecodeLimits& limits) : budget(limits), recent_(kRecent) {}

  Budget budget;

  struct Recent {
    std::string_view bytes;  // of the message being read; empty if the place is free
    AttrValue value;
  };
  // Where a value with these bytes is kept, if it is; null for bytes that are not worth it.
  Recent* recent(std::string_view bytes);

 private:
  static constexpr size_t kRecent = 256;
  std::vector<Recent> recent_;
};

// An AttrValue message. `depth` counts the functions around it.
Status read_attr_value(Reader reader, AttrContext& context, int depth, AttrValue* out);
// One entry of a map<string, AttrValue>, appended; a remark (a name that begins with `_`) that
// can't be read is left out. Once all are there, only the last of each name counts.
Status read_attr_entry(Reader reader, AttrContext& context, int depth, Attrs* out);
void keep_last_of_equal_names(Attrs* attrs);

// As field `number` of the message being written.
void put_attr_value(std::string* out, int number, const AttrValue& value);
void put_attr_entry(std::string* out, int number, std::string_view name, const AttrValue& value);

// About how many bytes a value takes when written.
size_t expected_attr_bytes(const AttrValue& value);

}  // namespace millrace::wire

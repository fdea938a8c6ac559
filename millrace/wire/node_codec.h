// NodeDef on the wire. Private to this room.
#pragma once

#include "millrace/wire/attr_codec.h"
#include "millrace/wire/node_def.h"

namespace millrace::wire {

Status read_node(Reader reader, AttrContext& context, NodeDef* node);
// As field `number` of the message being written.
void put_node(std::string* out, int number, const NodeDef& node);

}  // namespace millrace::wire

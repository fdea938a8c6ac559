#include "millrace/op/durable.h"

namespace millrace {

Result<bool> asks_to_last(std::string_view op, const Attrs& attrs) {
  const AttrValue* const wish = attrs.find(kDurable);
  if (wish == nullptr) return false;
  const bool* const asks = wish->as_bool();
  if (asks == nullptr)
    return invalid(kDurable, " is ", wish->to_string(), ", and has to be true or false");
  if (*asks && !can_be_durable(op))
    return unimplemented("a ", op, " can't be kept (", kDurable,
                         "): only variables and queues can be durable");
  return *asks;
}

}  // namespace millrace

#include "millrace/op/variant_type.h"

#include <algorithm>

namespace millrace {

Status VariantTypes::add(VariantType type) {
  if (find(type.type_name) != nullptr)
    return error(Code::already_exists, "variant type '", type.type_name, "' is registered twice");
  types_.push_back(std::move(type));
  return {};
}

const VariantType* VariantTypes::find(std::string_view type_name) const {
  const auto found = std::ranges::find(types_, type_name, &VariantType::type_name);
  return found == types_.end() ? nullptr : &*found;
}

}  // namespace millrace

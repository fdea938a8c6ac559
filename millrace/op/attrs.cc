#include "millrace/op/attrs.h"

#include <algorithm>

#include "millrace/op/op_def.h"

namespace millrace {
namespace {

struct ByName {
  bool operator()(const Attrs::Entry& entry, std::string_view name) const {
    return entry.first < name;
  }
};

// The attribute as `T`, read by `get`; `wanted` is TensorFlow's word for the kind.
template <class T, class Get>
Result<T> typed(const AttrView& view, std::string_view name, std::string_view wanted, Get get) {
  const AttrValue* value = view.find(name);
  if (value == nullptr)
    return invalid("attribute '", name, "' of op ", view.op().name, " is missing; it is a ",
                   wanted);
  if (const T* held = get(*value)) return *held;
  return invalid("attribute '", name, "' of op ", view.op().name, " is a ", value->kind(), ", ",
                 value->to_string(), "; expected a ", wanted);
}

}  // namespace

Attrs::Attrs(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.first, entry.second);
}

Attrs::Attrs(std::vector<Entry> entries) : entries_(std::move(entries)) {
  // Most nodes of an imported graph come sorted, and there may be a million of them.
  const auto before = [](const Entry& a, const Entry& b) { return a.first < b.first; };
  const auto same = [](const Entry& a, const Entry& b) { return a.first == b.first; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before)) {
    std::stable_sort(entries_.begin(), entries_.end(), before);
  }
  if (std::adjacent_find(entries_.begin(), entries_.end(), same) == entries_.end()) return;
  // Backwards, so that of equal names the last one is kept.
  const auto kept = std::unique(entries_.rbegin(), entries_.rend(), same);
  entries_.erase(entries_.begin(), kept.base());
}

void Attrs::set(std::string_view name, AttrValue value) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name, ByName());
  if (at != entries_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    entries_.emplace(at, std::string(name), std::move(value));
  }
}

void Attrs::erase(std::string_view name) {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name, ByName());
  if (at != entries_.end() && at->first == name) entries_.erase(at);
}

const AttrValue* Attrs::find(std::string_view name) const {
  auto at = std::lower_bound(entries_.begin(), entries_.end(), name, ByName());
  return at != entries_.end() && at->first == name ? &at->second : nullptr;
}

const AttrValue* AttrView::find(std::string_view name) const {
  if (const AttrValue* given = attrs_.find(name)) return given;
  const AttrDef* attr = op_.find_attr(name);
  return attr != nullptr && attr->default_value ? &*attr->default_value : nullptr;
}

Result<DType> AttrView::type(std::string_view name) const {
  return typed<DType>(*this, name, "type", [](const AttrValue& v) { return v.as_type(); });
}
Result<int64_t> AttrView::integer(std::string_view name) const {
  return typed<int64_t>(*this, name, "int", [](const AttrValue& v) { return v.as_int(); });
}
Result<float> AttrView::real(std::string_view name) const {
  return typed<float>(*this, name, "float", [](const AttrValue& v) { return v.as_float(); });
}
Result<bool> AttrView::boolean(std::string_view name) const {
  return typed<bool>(*this, name, "bool", [](const AttrValue& v) { return v.as_bool(); });
}
Result<std::string> AttrView::string(std::string_view name) const {
  return typed<std::string>(*this, name, "string",
                            [](const AttrValue& v) { return v.as_string(); });
}
Result<PartialShape> AttrView::shape(std::string_view name) const {
  return typed<PartialShape>(*this, name, "shape", [](const AttrValue& v) { return v.as_shape(); });
}
Result<Tensor> AttrView::tensor(std::string_view name) const {
  return typed<Tensor>(*this, name, "tensor", [](const AttrValue& v) { return v.as_tensor(); });
}
Result<std::vector<DType>> AttrView::types(std::string_view name) const {
  return typed<std::vector<DType>>(*this, name, "list(type)",
                                   [](const AttrValue& v) { return v.as_list_of<DType>(); });
}
Result<std::vector<PartialShape>> AttrView::shapes(std::string_view name) const {
  return typed<std::vector<PartialShape>>(
      *this, name, "list(shape)", [](const AttrValue& v) { return v.as_list_of<PartialShape>(); });
}
Result<std::vector<int64_t>> AttrView::integers(std::string_view name) const {
  return typed<std::vector<int64_t>>(*this, name, "list(int)",
                                     [](const AttrValue& v) { return v.as_list_of<int64_t>(); });
}
}  // namespace millrace

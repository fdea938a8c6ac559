// Part of attr_codec.h: from bytes to attribute values.
#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "absl/container/flat_hash_set.h"

#include "millrace/base/hash.h"
#include "millrace/base/str_cat.h"
#include "millrace/format/shape_codec.h"
#include "millrace/wire/attr_codec.h"
#include "millrace/wire/field_numbers.h"

namespace millrace::wire {
namespace {

using enum fields::attr_value::Number;
using enum fields::list_value::Number;
using enum fields::name_attr_list::Number;
using enum fields::map_entry::Number;

Status read_type(const Field& field, DType* out) {
  const auto dtype = dtype_or_ref_from_number(field.value);
  if (!dtype) return invalid("type number ", field.value, " is not known");
  *out = *dtype;
  return {};
}

// Attributes that annotate a node and bind nobody. Masters write there what no op may have, such as
// sizes below -1 in shapes, which number the unknown sizes.
bool is_remark(std::string_view name) { return name.starts_with('_') && name != "_class"; }

Status read_func(Reader reader, AttrContext& context, int depth, FunctionRef* out) {
  if (depth > kMaxDepth)
    return reader.malformed(reader.remaining(), "functions nested more than 100 deep");
  Field field;
  while (reader.next(&field)) {
    if (field.is(kFuncName, WireType::bytes)) {
      out->name = field.bytes;
    } else if (field.is(kFuncAttr, WireType::bytes)) {
      MR_TRY(read_attr_entry(reader.inside(field), context, depth, &out->attrs));
    }
  }
  keep_last_of_equal_names(&out->attrs);
  // A map has no order, and functions are compared.
  std::ranges::sort(
      out->attrs, {}, [](const auto& attr) -> const auto& { return attr.first; });
  return reader.status();
}

// Collects the elements of a ListValue, all of one kind.
class ListReader {
 public:
  ListReader(AttrContext& context, int depth) : context_(context), depth_(depth) {}

  Status read(Reader reader) {
    Field field;
    while (reader.next(&field)) {
      switch (field.number) {
        case kString:
          MR_TRY(add_bytes<std::string>(field, [&](auto* out) {
            *out = field.bytes;
            return Status();
          }));
          break;
        case kInt:
          MR_TRY(add_numbers<int64_t>(reader, field));
          break;
        case kFloat:
          MR_TRY(add_numbers<float>(reader, field));
          break;
        case kBool:
          MR_TRY(add_numbers<bool>(reader, field));
          break;
        case kType:
          MR_TRY(add_numbers<DType>(reader, field));
          break;
        case kShape:
          MR_TRY(add_bytes<PartialShape>(field, [&](auto* out) {
            return assign(out, read_partial_shape(reader.inside(field)));
          }));
          break;
        case kAttrTensor:
          MR_TRY(add_bytes<Tensor>(field, [&](auto* out) {
            return assign(out, read_tensor(reader.inside(field), context_.budget, 0));
          }));
          break;
        case kListFunc:
          MR_TRY(add_bytes<FunctionRef>(field, [&](auto* out) {
            return read_func(reader.inside(field), context_, depth_ + 1, out);
          }));
          break;
        default:
          break;
      }
    }
    return reader.status();
  }

  AttrValue value() && { return AttrValue(std::move(items_)); }

 private:
  template <class T>
  static Status assign(T* out, Result<T> value) {
    if (!value.ok()) return value.status();
    *out = std::move(value).value();
    return {};
  }

  // The list of T, unless elements of another kind came before.
  template <class T>
  Result<AttrValue::List<T>*> items() {
    using List = AttrValue::List<T>;
    if (!std::holds_alternative<List>(items_)) {
      const bool is_empty = std::visit([](const auto& items) { return items.empty(); }, items_);
      if (!is_empty)
        return invalid("a list mixes elements of different kinds: ", AttrValue(items_).kind());
      items_ = List();
    }
    return &std::get<List>(items_);
  }

  template <class T, class Read>
  Status add_bytes(const Field& field, Read read) {
    if (field.type != WireType::bytes) return {};
    MR_ASSIGN(AttrValue::List<T> * list, items<T>());
    list->emplace_back();
    return read(&list->back());
  }

  template <class T>
  static Status add_number(const Field& field, AttrValue::List<T>* list) {
    if constexpr (std::is_same_v<T, float>) {
      list->push_back(field.as_float());
    } else if constexpr (std::is_same_v<T, bool>) {
      list->push_back(field.value != 0);
    } else if constexpr (std::is_same_v<T, DType>) {
      DType dtype;
      MR_TRY(read_type(field, &dtype));
      list->push_back(dtype);
    } else {
      list->push_back(static_cast<T>(field.value));
    }
    return {};
  }

  // A packed run of numbers, or a single one.
  template <class T>
  Status add_numbers(const Reader& reader, const Field& field) {
    constexpr WireType kType = std::is_same_v<T, float> ? WireType::fixed32 : WireType::varint;
    if (field.type != kType && field.type != WireType::bytes) return {};
    MR_ASSIGN(AttrValue::List<T> * list, items<T>());
    if (field.type == kType) return add_number(field, list);
    Field element;
    if constexpr (kType == WireType::fixed32) {
      if (field.bytes.size() % sizeof(float) != 0)
        return reader.malformed(field.bytes,
                                "a list of floats whose length is not a multiple of 4");
      for (size_t at = 0; at < field.bytes.size(); at += sizeof(float)) {
        float value;
        std::memcpy(&value, field.bytes.data() + at, sizeof(value));
        list->push_back(value);
      }
      return {};
    } else {
      Reader packed = reader.inside(field);
      while (!packed.at_end()) {
        if (!packed.next_varint(&element.value)) return packed.status();
        MR_TRY(add_number(element, list));
      }
      return {};
    }
  }

  AttrContext& context_;
  const int depth_;
  AttrValue::ListValue items_;
};

}  // namespace

AttrContext::Recent* AttrContext::recent(std::string_view bytes) {
  constexpr size_t kLongest = 128;
  constexpr unsigned char kWireTypeBits = 7;
  if (bytes.size() < 2 || bytes.size() > kLongest) return nullptr;
  // Numbers, bools and types are cheaper to read than to look up.
  if ((bytes[0] & kWireTypeBits) != static_cast<unsigned char>(WireType::bytes)) return nullptr;
  return &recent_[murmur64(bytes) % kRecent];
}

Status read_attr_value(Reader reader, AttrContext& context, int depth, AttrValue* out) {
  Field field;
  while (reader.next(&field)) {
    if (field.is(kInt, WireType::varint)) {
      *out = static_cast<int64_t>(field.value);
    } else if (field.is(kFloat, WireType::fixed32)) {
      *out = field.as_float();
    } else if (field.is(kBool, WireType::varint)) {
      *out = field.value != 0;
    } else if (field.is(kType, WireType::varint)) {
      DType dtype;
      MR_TRY(read_type(field, &dtype));
      *out = dtype;
    } else if (field.type != WireType::bytes) {
      continue;
    } else if (field.number == kString) {
      *out = AttrValue(field.bytes);
    } else if (field.number == kShape) {
      MR_ASSIGN(PartialShape shape, read_partial_shape(reader.inside(field)));
      *out = std::move(shape);
    } else if (field.number == kAttrTensor) {
      MR_ASSIGN(Tensor tensor, read_tensor(reader.inside(field), context.budget, 0));
      *out = std::move(tensor);
    } else if (field.number == kPlaceholder) {
      *out = AttrPlaceholder{std::string(field.bytes)};
    } else if (field.number == kFunc) {
      FunctionRef func;
      MR_TRY(read_func(reader.inside(field), context, depth + 1, &func));
      *out = std::move(func);
    } else if (field.number == kList) {
      ListReader list(context, depth);
      MR_TRY(list.read(reader.inside(field)));
      *out = std::move(list).value();
    }
  }
  return reader.status();
}

Status read_attr_entry(Reader reader, AttrContext& context, int depth, Attrs* out) {
  std::string_view name;
  std::optional<Reader> value;
  Field field;
  while (reader.next(&field)) {
    if (field.is(kEntryKey, WireType::bytes)) {
      name = field.bytes;
    } else if (field.is(kEntryValue, WireType::bytes)) {
      value = reader.inside(field);
    }
  }
  MR_TRY(reader.status());
  auto& attr = out->emplace_back(name, AttrValue());
  if (!value) return {};
  AttrContext::Recent* const recent = context.recent(value->remaining());
  if (recent != nullptr && recent->bytes == value->remaining()) {
    attr.second = recent->value;
    return {};
  }
  if (Status status = read_attr_value(*value, context, depth, &attr.second); !status.ok()) {
    if (is_remark(name) && status.code() == Code::invalid_argument) {
      out->pop_back();
      return {};
    }
    return status.with(str_cat("attribute '", name, "'"));
  }
  if (recent != nullptr) *recent = {value->remaining(), attr.second};
  return {};
}

void keep_last_of_equal_names(Attrs* attrs) {
  constexpr size_t kFew = 16;
  std::vector<bool> is_kept(attrs->size(), true);
  bool all_kept = true;
  if (attrs->size() <= kFew) {
    for (size_t i = 0; i < attrs->size(); ++i) {
      const auto& name = (*attrs)[i].first;
      const bool comes_again = std::any_of(attrs->begin() + i + 1, attrs->end(),
                                           [&](const auto& attr) { return attr.first == name; });
      is_kept[i] = !comes_again;
      all_kept &= !comes_again;
    }
  } else {
    absl::flat_hash_set<absl::string_view> seen;
    for (size_t i = attrs->size(); i-- > 0;) {
      is_kept[i] = seen.insert((*attrs)[i].first).second;
      all_kept &= is_kept[i];
    }
  }
  if (all_kept) return;
  Attrs kept;
  for (size_t i = 0; i < attrs->size(); ++i) {
    if (is_kept[i]) kept.push_back(std::move((*attrs)[i]));
  }
  *attrs = std::move(kept);
}

}  // namespace millrace::wire

// The attributes of one node: name -> AttrValue, in order of names.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/attr_value.h"

namespace millrace {

struct OpDef;

class Attrs {
 public:
  using Entry = std::pair<std::string, AttrValue>;

  Attrs() = default;
  // Written in code; the last of two equal names wins.
  Attrs(std::initializer_list<Entry> entries);
  explicit Attrs(std::vector<Entry> entries);

  void set(std::string_view name, AttrValue value);
  void erase(std::string_view name);
  // Null if there is none.
  const AttrValue* find(std::string_view name) const;
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  friend bool operator==(const Attrs&, const Attrs&) = default;

 private:
  std::vector<Entry> entries_;  // sorted by name
};

// Attributes of a node seen through its op: what the node leaves out has the op's default. The
// typed getters return INVALID_ARGUMENT naming the attribute, its kind, and what was asked for.
class AttrView {
 public:
  AttrView(const OpDef& op, const Attrs& attrs) : op_(op), attrs_(attrs) {}

  // Null if neither the node nor the op has a value.
  const AttrValue* find(std::string_view name) const;
  Result<DType> type(std::string_view name) const;
  Result<int64_t> integer(std::string_view name) const;
  Result<float> real(std::string_view name) const;
  Result<bool> boolean(std::string_view name) const;
  Result<std::string> string(std::string_view name) const;
  Result<PartialShape> shape(std::string_view name) const;
  Result<Tensor> tensor(std::string_view name) const;
  Result<std::vector<DType>> types(std::string_view name) const;
  Result<std::vector<PartialShape>> shapes(std::string_view name) const;
  Result<std::vector<int64_t>> integers(std::string_view name) const;

  const OpDef& op() const { return op_; }
  const Attrs& attrs() const { return attrs_; }

 private:
  const OpDef& op_;
  const Attrs& attrs_;
};

}  // namespace millrace

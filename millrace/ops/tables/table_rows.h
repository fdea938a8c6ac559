// TableRows: keys and a value for each, as rows of tensors, found by the key's bytes. What hash
// tables keep; no lock, no rules.
//
// A key or a value is one element, or several of a fixed shape: row i of a tensor is its i-th run
// of so many elements. Rows stand in the order in which their keys came, but a removed one is
// replaced by the last. Memory is a copy of keys and values and some 8 bytes a row.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

#include "millrace/tensor/tensor.h"

namespace millrace {

// Values of one type, `size` elements a row. Plain ones are bytes, strings strings.
class ValueColumn {
 public:
  ValueColumn(DType dtype, int64_t size) : dtype_(dtype), size_(static_cast<size_t>(size)) {}

  // Row `from` of `values` at the end, or in the place of row `to`.
  void append(const Tensor& values, size_t from);
  void set(size_t to, const Tensor& values, size_t from);
  // Row `from` of this into row `to` of `values`.
  void copy_to(size_t from, Tensor& values, size_t to) const;
  bool equals(size_t row, const Tensor& values, size_t other) const;
  // The last row goes to where row `to` was.
  void replace_by_last(size_t to);
  void clear();

 private:
  size_t row_bytes() const { return size_ * dtype_size(dtype_); }

  DType dtype_;
  size_t size_;
  std::vector<char> bytes_;
  std::vector<std::string> texts_;
};

// Copies row `from` of one tensor to row `to` of another, of `size` elements of one type each.
void copy_row(const Tensor& source, size_t from, Tensor& target, size_t to, size_t size);

class TableRows {
 public:
  TableRows(DType key_type, int64_t key_size, DType value_type, int64_t value_size);
  TableRows(TableRows&&) = default;
  TableRows& operator=(TableRows&&) = default;

  size_t size() const { return keys_->size(); }
  // The bytes by which row `row` of `keys` is known: a view into the tensor, or into `room`.
  std::string_view key_of(const Tensor& keys, size_t row, std::string& room) const;
  std::optional<size_t> find(std::string_view key) const;
  const ValueColumn& values() const { return values_; }
  // Puts row `from` of `values` under a key; it replaces what is there.
  void put(std::string_view key, const Tensor& values, size_t from);
  void remove(std::string_view key);
  void clear();
  // Row `row`'s key into row `row` of `keys`.
  void copy_key_to(size_t row, Tensor& keys) const;

 private:
  using Keys = std::vector<std::string>;
  // Rows are hashed and compared as their keys. A list of keys of its own address: moving the
  // table moves only the pointer.
  struct Hash {
    using is_transparent = void;
    const Keys* keys;
    size_t operator()(size_t row) const { return (*this)(absl::string_view((*keys)[row])); }
    size_t operator()(absl::string_view key) const { return absl::Hash<absl::string_view>()(key); }
  };
  struct Equal {
    using is_transparent = void;
    const Keys* keys;
    bool operator()(size_t a, size_t b) const { return a == b; }
    bool operator()(size_t a, absl::string_view b) const { return (*keys)[a] == b; }
    bool operator()(absl::string_view a, size_t b) const { return (*keys)[b] == a; }
  };

  bool has_plain_keys() const { return key_type_ != DType::string; }

  DType key_type_;
  size_t key_size_;
  std::unique_ptr<Keys> keys_;
  absl::flat_hash_set<size_t, Hash, Equal> rows_;
  ValueColumn values_;
};

}  // namespace millrace

#include "millrace/ops/tables/table_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

const char* plain_row(const Tensor& tensor, size_t row, size_t bytes) {
  return static_cast<const char*>(tensor.data()) + row * bytes;
}

// Several strings as one that no others are like: each after its length.
void append_text(std::string& all, const std::string& text) {
  const uint64_t length = text.size();
  all.append(reinterpret_cast<const char*>(&length), sizeof length);
  all.append(text);
}

}  // namespace

void copy_row(const Tensor& source, size_t from, Tensor& target, size_t to, size_t size) {
  if (source.dtype() == DType::string) {
    const auto texts = source.flat<std::string>().subspan(from * size, size);
    std::copy(texts.begin(), texts.end(),
              target.mutable_flat<std::string>().begin() + static_cast<std::ptrdiff_t>(to * size));
    return;
  }
  const size_t bytes = size * dtype_size(source.dtype());
  if (bytes == 0) return;
  std::memcpy(static_cast<char*>(target.mutable_data()) + to * bytes,
              plain_row(source, from, bytes), bytes);
}

void ValueColumn::append(const Tensor& values, size_t from) {
  if (dtype_ == DType::string) {
    const auto texts = values.flat<std::string>().subspan(from * size_, size_);
    texts_.insert(texts_.end(), texts.begin(), texts.end());
  } else if (row_bytes() > 0) {
    const char* const row = plain_row(values, from, row_bytes());
    bytes_.insert(bytes_.end(), row, row + row_bytes());
  }
}

void ValueColumn::set(size_t to, const Tensor& values, size_t from) {
  if (dtype_ == DType::string) {
    const auto texts = values.flat<std::string>().subspan(from * size_, size_);
    std::copy(texts.begin(), texts.end(), texts_.begin() + static_cast<std::ptrdiff_t>(to * size_));
  } else if (row_bytes() > 0) {
    std::memcpy(bytes_.data() + to * row_bytes(), plain_row(values, from, row_bytes()),
                row_bytes());
  }
}

void ValueColumn::copy_to(size_t from, Tensor& values, size_t to) const {
  if (dtype_ == DType::string) {
    const auto begin = texts_.begin() + static_cast<std::ptrdiff_t>(from * size_);
    std::copy(begin, begin + static_cast<std::ptrdiff_t>(size_),
              values.mutable_flat<std::string>().begin() + static_cast<std::ptrdiff_t>(to * size_));
  } else if (row_bytes() > 0) {
    std::memcpy(static_cast<char*>(values.mutable_data()) + to * row_bytes(),
                bytes_.data() + from * row_bytes(), row_bytes());
  }
}

bool ValueColumn::equals(size_t row, const Tensor& values, size_t other) const {
  if (dtype_ == DType::string) {
    const auto texts = values.flat<std::string>().subspan(other * size_, size_);
    return std::equal(texts.begin(), texts.end(),
                      texts_.begin() + static_cast<std::ptrdiff_t>(row * size_));
  }
  return row_bytes() == 0 || std::memcmp(bytes_.data() + row * row_bytes(),
                                         plain_row(values, other, row_bytes()), row_bytes()) == 0;
}

void ValueColumn::replace_by_last(size_t to) {
  if (dtype_ == DType::string) {
    const size_t last = texts_.size() - size_;
    for (size_t i = 0; i < size_ && to * size_ != last; ++i)
      texts_[to * size_ + i] = std::move(texts_[last + i]);
    texts_.resize(last);
  } else if (row_bytes() > 0) {
    const size_t last = bytes_.size() - row_bytes();
    std::memmove(bytes_.data() + to * row_bytes(), bytes_.data() + last, row_bytes());
    bytes_.resize(last);
  }
}

void ValueColumn::clear() {
  bytes_.clear();
  texts_.clear();
}

TableRows::TableRows(DType key_type, int64_t key_size, DType value_type, int64_t value_size)
    : key_type_(key_type),
      key_size_(static_cast<size_t>(key_size)),
      keys_(std::make_unique<Keys>()),
      rows_(0, Hash{keys_.get()}, Equal{keys_.get()}),
      values_(value_type, value_size) {}

std::string_view TableRows::key_of(const Tensor& keys, size_t row, std::string& room) const {
  if (has_plain_keys()) {
    const size_t bytes = key_size_ * dtype_size(key_type_);
    return {plain_row(keys, row, bytes), bytes};
  }
  const auto texts = keys.flat<std::string>().subspan(row * key_size_, key_size_);
  if (key_size_ == 1) return texts[0];
  room.clear();
  for (const std::string& text : texts) append_text(room, text);
  return room;
}

std::optional<size_t> TableRows::find(std::string_view key) const {
  const auto found = rows_.find(to_absl(key));
  if (found == rows_.end()) return std::nullopt;
  return *found;
}

void TableRows::put(std::string_view key, const Tensor& values, size_t from) {
  if (const auto row = find(key)) return values_.set(*row, values, from);
  keys_->emplace_back(key);
  values_.append(values, from);
  rows_.insert(keys_->size() - 1);
}

void TableRows::remove(std::string_view key) {
  const auto row = find(key);
  if (!row) return;
  const size_t last = keys_->size() - 1;
  rows_.erase(*row);
  if (*row != last) {
    rows_.erase(last);
    (*keys_)[*row] = std::move((*keys_)[last]);
  }
  values_.replace_by_last(*row);
  keys_->pop_back();
  if (*row != last) rows_.insert(*row);
}

void TableRows::clear() {
  rows_.clear();
  keys_->clear();
  values_.clear();
}

void TableRows::copy_key_to(size_t row, Tensor& keys) const {
  const std::string& key = (*keys_)[row];
  if (has_plain_keys()) {
    if (!key.empty())
      std::memcpy(static_cast<char*>(keys.mutable_data()) + row * key.size(), key.data(),
                  key.size());
    return;
  }
  const auto texts = keys.mutable_flat<std::string>().subspan(row * key_size_, key_size_);
  if (key_size_ == 1) {
    texts[0] = key;
    return;
  }
  size_t at = 0;
  for (std::string& text : texts) {
    uint64_t length = 0;
    std::memcpy(&length, key.data() + at, sizeof length);
    text = key.substr(at + sizeof length, length);
    at += sizeof length + length;
  }
}

}  // namespace millrace

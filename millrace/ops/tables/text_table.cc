#include "millrace/ops/tables/text_table.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/charconv.h"

#include "millrace/base/str_cat.h"
#include "millrace/io/line_reader.h"

namespace millrace {
namespace {

// Cells of one column, as a vector of its type.
class Column {
 public:
  Column(DType dtype, int64_t index) : dtype_(dtype), index_(index) {}

  Status add(const std::string& line, const std::vector<std::string_view>& cells, int64_t number,
             int64_t offset) {
    if (index_ == TextTable::kLineNumber) {
      integers_.push_back(number + offset);
      return {};
    }
    const std::string_view text =
        index_ == TextTable::kWholeLine ? line : cells[static_cast<size_t>(index_)];
    if (dtype_ == DType::string) {
      texts_.emplace_back(text);
      return {};
    }
    if (is_floating(dtype_) ? add_real(text) : add_integer(text)) return {};
    return invalid("Field ", text, " in line ", number, " is not a valid ", dtype_name(dtype_),
                   ".");
  }

  Result<Tensor> tensor() const {
    switch (dtype_) {
      case DType::i32:
        return as<int32_t>(integers_);
      case DType::i64:
        return as<int64_t>(integers_);
      case DType::f32:
        return as<float>(reals_);
      case DType::f64:
        return as<double>(reals_);
      default:
        return as<std::string>(texts_);
    }
  }

 private:
  bool add_integer(std::string_view text) {
    int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || stop != end) return false;
    if (dtype_ == DType::i32 && number != static_cast<int32_t>(number)) return false;
    integers_.push_back(number);
    return true;
  }
  bool add_real(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = absl::from_chars(text.data(), end, number);
    if (problem == std::errc::invalid_argument || stop != end) return false;
    reals_.push_back(number);
    return true;
  }
  template <class T, class From>
  static Result<Tensor> as(const std::vector<From>& from) {
    MR_ASSIGN(Tensor made, Tensor::allocate(dtype_of<T>, Shape{static_cast<int64_t>(from.size())}));
    std::ranges::transform(from, made.mutable_flat<T>().begin(),
                           [](const From& each) { return static_cast<T>(each); });
    return made;
  }

  const DType dtype_;
  const int64_t index_;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::string> texts_;
};

void split(std::string_view line, char delimiter, std::vector<std::string_view>& cells) {
  cells.clear();
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(delimiter, begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
}

Status check_column(std::string_view what, DType dtype, int64_t index) {
  if (index == TextTable::kLineNumber && dtype != DType::i64) {
    return invalid(what, " index for line number requires table ", what == "Key" ? "key" : "value",
                   " dtype of int64, got ", dtype_name(dtype));
  }
  const DType whole[] = {DType::i32, DType::i64, DType::string};
  if (index == TextTable::kWholeLine && std::ranges::find(whole, dtype) == std::end(whole)) {
    return invalid(what, " index for whole line requires table ", what == "Key" ? "key" : "value",
                   " dtype of string or of integers, got ", dtype_name(dtype));
  }
  const DType known[] = {DType::i32, DType::i64, DType::f32, DType::f64, DType::string};
  if (std::ranges::find(known, dtype) == std::end(known))
    return invalid("Data type ", dtype_name(dtype), " not supported.");
  return {};
}

}  // namespace

Status TextTable::check() const {
  MR_TRY(check_column("Key", key, key_index));
  return check_column("Value", value, value_index);
}

Result<std::pair<Tensor, Tensor>> TextTable::read(Files& files) const {
  MR_TRY(check());
  MR_ASSIGN(auto opened, files.open(file));
  io::LineReader lines(std::move(opened));
  Column keys(key, key_index), values(value, value_index);
  const int64_t last_column = std::max(key_index, value_index);
  std::string line;
  std::vector<std::string_view> cells;
  int64_t number = 0;
  for (; most_lines < 0 || number < most_lines; ++number) {
    MR_ASSIGN(const bool has_line, lines.next(&line).with(file));
    if (!has_line) break;
    if (line.empty()) {
      return invalid("Invalid content in ", file, ": empty line found at position ", lines.offset(),
                     ".");
    }
    if (last_column >= 0) {
      split(line, delimiter, cells);
      if (last_column >= static_cast<int64_t>(cells.size())) {
        return invalid("Invalid number of columns in ", file, " line ", number, " (", line,
                       ") : expected ", last_column, " got ", cells.size());
      }
    }
    MR_TRY(keys.add(line, cells, number, offset).with(file));
    MR_TRY(values.add(line, cells, number, offset).with(file));
  }
  if (most_lines >= 0 && number < most_lines) {
    return invalid("Invalid vocab_size in ", file, ": expected ", most_lines, " but got ", number);
  }
  MR_ASSIGN(Tensor all_keys, keys.tensor());
  MR_ASSIGN(Tensor all_values, values.tensor());
  return std::pair(std::move(all_keys), std::move(all_values));
}

}  // namespace millrace

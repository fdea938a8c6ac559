#include "millrace/ops/parsing/csv_fields.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/charconv.h"

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Whether nobody asks for what stands behind so many fields.
bool is_enough(const CsvFormat& format, size_t fields) {
  return !format.columns.empty() && std::cmp_greater(fields, format.columns.back());
}

Status cut_quoted(const CsvFormat& format, std::string_view record, size_t& at,
                  std::string& field) {
  for (++at;; ++at) {
    if (at >= record.size())
      return invalid("Quoted field has to end with quote followed by delim or end");
    if (record[at] == '"') {
      if (at + 1 >= record.size() || record[at + 1] != '"') break;
      ++at;
    }
    field.push_back(record[at]);
  }
  ++at;
  if (at < record.size() && record[at] != format.delimiter)
    return invalid("Quoted field has to end with quote followed by delim or end");
  return {};
}

Status cut_plain(const CsvFormat& format, std::string_view record, size_t& at, std::string& field) {
  while (at < record.size() && record[at] != format.delimiter) {
    const char c = record[at++];
    if ((format.has_quotes && c == '"') || is_line_end(c))
      return invalid("Unquoted fields cannot have quotes/CRLFs inside; see use_quote_delim");
    field.push_back(c);
  }
  return {};
}

}  // namespace

// Ends of lines are left out where a field begins, and nowhere else.
Status cut_csv_record(const CsvFormat& format, std::string_view record,
                      std::vector<std::string>& fields) {
  fields.clear();
  for (size_t at = 0;; ++at) {
    while (at < record.size() && is_line_end(record[at])) ++at;
    if (at >= record.size()) break;
    std::string field;
    if (format.has_quotes && record[at] == '"') {
      MR_TRY(cut_quoted(format, record, at, field));
    } else {
      MR_TRY(cut_plain(format, record, at, field));
    }
    fields.push_back(std::move(field));
    if (is_enough(format, fields.size())) return {};
  }
  if (record.ends_with(format.delimiter)) fields.emplace_back();
  return {};
}

CsvScan::At CsvScan::end_at(char c) {
  if (c != delimiter_ && !is_line_end(c)) return At::text;
  state_ = State::begin;
  return c == delimiter_ ? At::field_end : At::record_end;
}

CsvScan::At CsvScan::take(char c) {
  switch (state_) {
    case State::begin:
      if (has_quotes_ && c == '"') {
        state_ = State::quoted;
        return At::frame;
      }
      if (const At at = end_at(c); at != At::text) return at;
      state_ = State::plain;
      return At::text;
    case State::plain:
      if (const At at = end_at(c); at != At::text) return at;
      return has_quotes_ && c == '"' ? At::stray : At::text;
    case State::quoted:
      if (c != '"') return At::text;
      state_ = State::behind_quote;
      return At::frame;
    case State::behind_quote:
      break;
  }
  if (const At at = end_at(c); at != At::text) return at;
  state_ = State::quoted;
  return c == '"' ? At::text : At::unescaped;
}

Result<bool> CsvRecordFields::next(std::string* field) {
  field->clear();
  if (is_over_) return false;
  while (at_ < record_.size()) {
    const char c = record_[at_++];
    switch (scan_.take(c)) {
      case CsvScan::At::text:
        field->push_back(c);
        break;
      case CsvScan::At::frame:
        break;
      case CsvScan::At::stray:
        return invalid("Unquoted fields cannot have quotes inside");
      case CsvScan::At::unescaped:
        return invalid("Quote inside a string has to be escaped by another quote");
      case CsvScan::At::field_end:
      case CsvScan::At::record_end:
        return true;
    }
  }
  is_over_ = true;
  return true;
}

namespace {

std::string record_at(const CsvPlace& place) {
  return place.record ? str_cat("record ", *place.record) : "record";
}

template <class T>
bool read_number(std::string_view text, T& number) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
    text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  if constexpr (std::is_integral_v<T>) {
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    return problem == std::errc() && stop == end;
  } else {
    const auto [stop, problem] = absl::from_chars(text.data(), end, number);
    if (problem == std::errc::result_out_of_range && std::abs(number) > 1)
      number = number > 0 ? HUGE_VAL : -HUGE_VAL;
    return problem != std::errc::invalid_argument && stop == end && !text.empty();
  }
}

template <class T>
Status put(Tensor& column, size_t at, const std::string* field, const Tensor& fallback,
           const CsvPlace& place) {
  T& element = column.mutable_flat<T>()[at];
  if (field == nullptr) {
    if (fallback.num_elements() != 1) {
      return invalid("Field ", place.field, " is required but missing in ", record_at(place), "!");
    }
    element = fallback.flat<T>()[0];
    return {};
  }
  if constexpr (std::is_same_v<T, std::string>) {
    element = *field;
    return {};
  } else {
    if (read_number(*field, element)) return {};
    return invalid("Field ", place.field, " in ", record_at(place), " is not a valid ",
                   dtype_name(dtype_of<T>), ": ", *field);
  }
}

}  // namespace

Status put_csv_field(Tensor& column, size_t at, const std::string* field, const Tensor& fallback,
                     const CsvPlace& place) {
  switch (column.dtype()) {
    case DType::f32:
      return put<float>(column, at, field, fallback, place);
    case DType::f64:
      return put<double>(column, at, field, fallback, place);
    case DType::i32:
      return put<int32_t>(column, at, field, fallback, place);
    case DType::i64:
      return put<int64_t>(column, at, field, fallback, place);
    default:
      return put<std::string>(column, at, field, fallback, place);
  }
}

Status check_csv_default(const PartialShape& shape) {
  if (!shape.has_rank()) return {};
  if (shape.rank() > 1)
    return invalid("Shape must be at most rank 1 but is rank ", shape.rank(),
                   ": a default has shape ", shape.to_string());
  if (shape.rank() == 1 && shape.dim(0) > 1)
    return invalid("Shape of a default must be a length-0 or length-1 vector, or a scalar.");
  return {};
}

Status check_csv_default(const Tensor& fallback, size_t field) {
  if (fallback.shape().rank() > 1) return invalid("Each record default should be at most rank 1");
  if (fallback.num_elements() <= 1) return {};
  return invalid("There should only be 1 default per field but field ", field, " has ",
                 fallback.num_elements());
}

}  // namespace millrace

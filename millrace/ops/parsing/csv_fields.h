// The fields of CSV records: how DecodeCSV and datasets of CSV files read them.
//
// Both take fields as RFC 4180 has them: in quotes they may hold what parts fields, and quotes that
// are doubled. DecodeCSV is given one record, in which line ends have no place outside of quotes:
// cut_csv_record. A file has records behind each other, which end with their line, and one that
// can't be read must not take the next one along: CsvScan and CsvRecordFields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/tensor/shape.h"
#include "millrace/tensor/tensor.h"

namespace millrace {

struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;
  std::string missing;           // a field that says so is none
  std::vector<int64_t> columns;  // ascending; none: all

  bool is_missing(std::string_view field) const { return field.empty() || field == missing; }
};

// All fields of a record that stands alone, up to the last column that is wanted.
// Errors: INVALID_ARGUMENT for quotes and line ends where they must not be.
Status cut_csv_record(const CsvFormat& format, std::string_view record,
                      std::vector<std::string>& fields);

// What each character of a file is, from the beginning of a record on.
class CsvScan {
 public:
  enum class At : uint8_t {
    text,
    frame,       // a quote around a field, or the first of two in it
    stray,       // a quote in a field that has none around it
    unescaped,   // what stands behind a quote that neither ends the field nor is doubled
    field_end,   // what parts fields
    record_end,  // a line's end
  };
  explicit CsvScan(const CsvFormat& format)
      : delimiter_(format.delimiter), has_quotes_(format.has_quotes) {}

  At take(char c);
  // Whether the field is in quotes that are still to be closed.
  bool is_open() const { return state_ == State::quoted; }

 private:
  enum class State : uint8_t { begin, plain, quoted, behind_quote };
  // What ends a field where it stands outside of quotes; text otherwise.
  At end_at(char c);

  const char delimiter_;
  const bool has_quotes_;
  State state_ = State::begin;
};

// The fields of a record of a file, without its line's end, one by one. Refers to both.
class CsvRecordFields {
 public:
  CsvRecordFields(const CsvFormat& format, std::string_view record)
      : scan_(format), record_(record) {}
  // False behind the last one. Errors: INVALID_ARGUMENT for quotes where they must not be.
  Result<bool> next(std::string* field);

 private:
  CsvScan scan_;
  const std::string_view record_;
  size_t at_ = 0;
  bool is_over_ = false;
};

// Where a field stands, for messages: its number, and that of its record if records have some.
struct CsvPlace {
  size_t field = 0;
  std::optional<size_t> record;
};

// A field as element `at` of `column`; null if it is missing: then the default, which has no
// element if there is none. Requires a type that fields may have: float, double, int32, int64,
// string. Errors: INVALID_ARGUMENT if it is no such number, or missing without a default.
Status put_csv_field(Tensor& column, size_t at, const std::string* field, const Tensor& fallback,
                     const CsvPlace& place);

// What is known of a default: a scalar, or a vector of one element or none.
Status check_csv_default(const PartialShape& shape);
Status check_csv_default(const Tensor& fallback, size_t field);

}  // namespace millrace

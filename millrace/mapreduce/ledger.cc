#include "millrace/mapreduce/ledger.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "millrace/mapreduce/place.h"

namespace millrace::mapreduce {

int64_t Ledger::add_split(uint64_t weight) {
  weights_.push_back(weight);
  weight_ += static_cast<double>(weight);
  return static_cast<int64_t>(weights_.size()) - 1;
}

bool Ledger::has_piece(PieceKind kind, int64_t number) const {
  const auto count = kind == PieceKind::map ? static_cast<int64_t>(weights_.size()) : num_parts_;
  return number >= 0 && number < count;
}

bool Ledger::add_report(Report report) {
  if (!has_piece(report.kind, report.number)) return false;
  Book& book = book_of(report.kind);
  if (book.contains(report.number)) return false;
  if (!report.failure.ok()) {
    fail(report.failure);
    return true;
  }
  if (report.kind == PieceKind::map)
    weight_mapped_ += static_cast<double>(weights_[static_cast<size_t>(report.number)]);
  for (const auto& [name, number] : report.counters) add_count(&counters_, name, number);
  add_bad(report.num_bad, {});
  const int64_t number = report.number;
  book.emplace(number, std::move(report));
  return true;
}

void Ledger::add_bad(int64_t count, std::string_view first) {
  num_bad_ += count;
  if (num_bad_ <= max_bad_) return;
  fail(invalid(first, first.empty() ? "" : ". ", too_many_bad(num_bad_, max_bad_)));
}

void Ledger::fail(Status why) {
  if (failure_.ok()) failure_ = std::move(why);
}

bool Ledger::is_done(const Piece& piece) const {
  return book_of(piece.kind).contains(piece.number);
}

Counters Ledger::counters() const {
  Counters all = counters_;
  all["bad records"] = num_bad_;
  return all;
}

std::string Ledger::plan() const {
  std::vector<const Report*> reports;
  for (const auto& [_, report] : mapped()) reports.push_back(&report);
  return encode_plan(reports);
}

std::vector<std::string> Ledger::aside() const {
  std::vector<std::string> found;
  for (const auto& [_, report] : mapped())
    if (!report.aside.empty()) found.push_back(report.aside);
  return found;
}

std::vector<std::string> Ledger::parts() const {
  std::vector<std::string> found;
  for (const auto& [_, report] : reduced()) found.push_back(report.file);
  return found;
}

std::string Ledger::progress(double seconds) const {
  const bool is_reducing = num_parts_ != 0;
  const std::string_view what = publishes_    ? " partitions put into the queue, "
                                : is_reducing ? " partitions reduced, "
                                              : " splits mapped, ";
  const size_t done = publishes_    ? published().size()
                      : is_reducing ? reduced().size()
                                    : mapped().size();
  const size_t of = is_reducing ? static_cast<size_t>(num_parts_) : weights_.size();
  const double part = is_reducing ? static_cast<double>(done) / static_cast<double>(of)
                                  : weight_mapped_ / std::max(weight_, 1.0);
  const auto records = counters_.find("records read");
  std::string line = str_cat(done, " of ", of, all_found_ ? "" : " or more", what,
                             records == counters_.end() ? 0 : records->second, " records");
  if (num_bad_ != 0) str_append(&line, ", ", num_bad_, " bad");
  if (part > 0 && part < 1 && all_found_)
    str_append(&line, "; ", duration_text(seconds * (1 - part) / part), " left");
  return line;
}

std::string duration_text(double seconds) {
  const auto rounded = [](double number) { return static_cast<int64_t>(std::nearbyint(number)); };
  if (seconds < 90) return str_cat(std::max<int64_t>(rounded(seconds), 1), " s");
  const int64_t minutes = rounded(seconds / 60);
  if (minutes < 90) return str_cat(minutes, " min");
  return str_cat(minutes / 60, " h ", minutes % 60, " min");
}

std::string too_many_bad(int64_t num_bad, int64_t max_bad) {
  return str_cat(num_bad, num_bad == 1 ? " record is" : " records are",
                 " bad, and max_bad=", max_bad, " allows ", max_bad);
}

}  // namespace millrace::mapreduce

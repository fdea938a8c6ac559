// Ledger: what is done of a job and what is to do. Pure: reports go in; what follows from them can
// be asked. Each piece of work has one report: the first that comes counts. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/mapreduce/piece.h"

namespace millrace::mapreduce {

class Ledger {
 public:
  // `max_bad`: how many bad records the job bears.
  explicit Ledger(int64_t max_bad) : max_bad_(max_bad) {}

  // Another split is to be mapped; its number.
  int64_t add_split(uint64_t weight);
  // There will be no more.
  void all_are_found() { all_found_ = true; }
  void reduce_begins(int num_parts) { num_parts_ = num_parts; }
  // What is reduced is put into a queue from now on.
  void publish_begins() { publishes_ = true; }
  // Takes the report of a piece. False if one of that piece is there, or if there is no such piece.
  bool add_report(Report report);
  // So many more records are bad; `first` tells of one, or is empty.
  void add_bad(int64_t count, std::string_view first);
  // The first reason stays.
  void fail(Status why);

  bool is_done(const Piece& piece) const;
  bool all_found() const { return all_found_; }
  bool is_mapped() const { return all_found_ && mapped().size() == weights_.size(); }
  bool is_reduced() const {
    return num_parts_ != 0 && reduced().size() == static_cast<size_t>(num_parts_);
  }
  bool is_published() const {
    return publishes_ && published().size() == static_cast<size_t>(num_parts_);
  }
  // Why the job can't be done; OK as long as it can.
  const Status& failure() const { return failure_; }
  // Of all reports, and "bad records".
  Counters counters() const;
  // What reducers must know, in the order of splits.
  std::string plan() const;
  // The files with bad records, in the order of splits.
  std::vector<std::string> aside() const;
  // The files of all partitions, in their order.
  std::vector<std::string> parts() const;
  // A line that tells how far the job is, `seconds` after the phase that it is in began.
  std::string progress(double seconds) const;

 private:
  using Book = std::map<int64_t, Report>;
  bool has_piece(PieceKind kind, int64_t number) const;
  Book& book_of(PieceKind kind) { return books_[static_cast<size_t>(kind)]; }
  const Book& book_of(PieceKind kind) const { return books_[static_cast<size_t>(kind)]; }
  const Book& mapped() const { return book_of(PieceKind::map); }
  const Book& reduced() const { return book_of(PieceKind::reduce); }
  const Book& published() const { return book_of(PieceKind::publish); }

  const int64_t max_bad_;
  std::vector<uint64_t> weights_;  // of each split
  bool all_found_ = false;
  int num_parts_ = 0;  // once they are reduced
  bool publishes_ = false;
  std::array<Book, kPieceKinds.size()> books_;
  double weight_ = 0, weight_mapped_ = 0;
  Counters counters_;
  int64_t num_bad_ = 0;
  Status failure_;
};

// A time for people: 7 s, 3 min, 2 h 5 min.
std::string duration_text(double seconds);

// What a job says that ends for its bad records.
std::string too_many_bad(int64_t num_bad, int64_t max_bad);

}  // namespace millrace::mapreduce

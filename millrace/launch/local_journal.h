// A launcher's journal (journal.h) as a file, and the lock on it that says that the launcher lives.
// Lines are collected and written by flush(), once per turn of the launcher's loop.
// Single-threaded.
#pragma once

#include <cstdint>
#include <string>

#include "millrace/base/result.h"
#include "millrace/launch/descriptor.h"
#include "millrace/launch/journal.h"

namespace millrace {

class LocalJournal {
 public:
  // Who reads it: others of this machine, or of machines that see the same files. For those, what
  // is written is brought to the disk at once.
  enum class Readers : uint8_t { here, elsewhere };

  // Makes the file, and locks it for as long as this process lives. Errors: ALREADY_EXISTS for one
  // that is there: a job has one launcher, once; UNAVAILABLE with what the system says.
  static Result<LocalJournal> create(const std::string& path, Readers readers);

  void add(const JournalStart& start) { pending_ += to_line(start); }
  void add(const JournalEntry& entry) { pending_ += to_line(entry); }
  // Errors: UNAVAILABLE with what the system says, once; from then on nothing is written, and
  // the lock stays.
  Status flush();

 private:
  LocalJournal(std::string path, Descriptor file, Readers readers)
      : path_(std::move(path)), file_(std::move(file)), readers_(readers) {}

  std::string path_;
  Descriptor file_;
  Readers readers_;
  std::string pending_;
  bool is_cut_off_ = false;  // a line could not be written
};

// The process that holds the lock of this file; -1 if it has no number here, as one of another
// container; 0 if none does. Errors: UNAVAILABLE with what the
// system says; NOT_FOUND if there is no such file.
Result<pid_t> journal_holder(const std::string& path);

}  // namespace millrace

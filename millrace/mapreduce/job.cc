#include "millrace/mapreduce/job.h"

#include <cstdio>

#include "millrace/mapreduce/utf8.h"

namespace millrace::mapreduce {

namespace {

constexpr size_t kLeastMemory = size_t{1} << 10;
constexpr std::chrono::hours kLongestLease{2777};  // 1e7 s, as queues have it
constexpr int kMostPartitions = 100'000;

}  // namespace

void print_line(std::string_view line) {
  std::fprintf(stdout, "%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

Status Job::check() const {
  if (!input.has_value()) return invalid("the job has no input");
  MR_TRY(input->check());
  if (!map.has_value()) return invalid("the job has no map");
  if (output.folder().empty()) return invalid("the job has no output");
  if (output.queue()) MR_TRY(output.queue()->check());
  if (!is_utf8(output.folder())) return invalid("the output's path is no UTF-8");
  if (partitions < 0 || partitions > kMostPartitions)
    return invalid("partitions is ", partitions, "; it must be 0 to ", kMostPartitions);
  if (max_bad < 0) return invalid("max_bad is ", max_bad, "; it must be at least 0");
  if (memory < kLeastMemory)
    return invalid("memory is ", memory, "; it must be bytes, at least ", kLeastMemory);
  if (threads < 0) return invalid("threads is ", threads, "; it must be at least 0");
  if (lease.count() < 1 || lease > kLongestLease)
    return invalid("lease is ", lease.count(), " ms; it must be at least 1, and at most 1e10");
  if (attempts < 1) return invalid("attempts is ", attempts, "; it must be at least 1");
  if (backups && backups->count() < 0)
    return invalid("backups is ", backups->count(), " ms; it must be at least 0, or none");
  return {};
}

}  // namespace millrace::mapreduce

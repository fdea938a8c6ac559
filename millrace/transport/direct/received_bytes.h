// ReceivedBytes: the bytes of a message that has come, and Intake: how many there may be of all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "millrace/transport/protocol/chunks.h"
#include "millrace/transport/protocol/receive_memory.h"

namespace millrace::transport {

// What all connections of a process have received and nobody has let go of yet. Thread-safe.
class Intake {
 public:
  explicit Intake(const ReceiveLimits& limits) : limits_(limits) {}
  // gRPC counts by itself what it gathers: half of its bound is for calls without it, so that both
  // together leave a quarter of the memory.
  static ReceiveLimits beside_grpc(const ReceiveLimits& limits) {
    const size_t all = limits.all / 2;
    return {all, static_cast<int>(std::min<size_t>(limits.one_message, all))};
  }
  const ReceiveLimits& limits() const { return limits_; }

  // False if that would be too much.
  bool take(size_t bytes) {
    if (held_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limits_.all) return true;
    give_back(bytes);
    return false;
  }
  void give_back(size_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t held() const { return held_.load(std::memory_order_relaxed); }
  void count_message() { num_messages_.fetch_add(1, std::memory_order_relaxed); }
  // For tests: so many have come over lines so far.
  uint64_t num_messages() const { return num_messages_.load(std::memory_order_relaxed); }

 private:
  const ReceiveLimits limits_;
  std::atomic<size_t> held_{0};
  std::atomic<uint64_t> num_messages_{0};
};

// Filled from its beginning to its end. Not thread-safe.
class ReceivedBytes {
 public:
  ReceivedBytes() = default;
  // Nothing if there is no memory for so many.
  static std::unique_ptr<char[]> room_for(size_t size) {
    return std::unique_ptr<char[]>(new (std::nothrow) char[size]);
  }
  ReceivedBytes(std::shared_ptr<Intake> intake, std::unique_ptr<char[]> room, size_t size)
      : intake_(std::move(intake)), room_(std::move(room)), size_(size) {}
  ReceivedBytes(ReceivedBytes&& other) noexcept
      : intake_(std::move(other.intake_)),
        room_(std::move(other.room_)),
        size_(std::exchange(other.size_, 0)),
        filled_(std::exchange(other.filled_, 0)) {}
  ReceivedBytes& operator=(ReceivedBytes&& other) noexcept {
    drop();
    intake_ = std::move(other.intake_);
    room_ = std::move(other.room_);
    size_ = std::exchange(other.size_, 0);
    filled_ = std::exchange(other.filled_, 0);
    return *this;
  }
  ~ReceivedBytes() { drop(); }

  void drop() {
    if (intake_ != nullptr) intake_->give_back(filled_);
    intake_.reset();
    room_.reset();
    size_ = filled_ = 0;
  }
  size_t size() const { return size_; }
  size_t filled() const { return filled_; }
  // Where the next byte goes.
  char* next() { return room_.get() + filled_; }
  // So many have been put there, or are about to be. False if all connections together hold too
  // much; they don't count then.
  bool fill(size_t bytes) {
    if (!intake_->take(bytes)) return false;
    filled_ += bytes;
    return true;
  }
  // Valid as long as this.
  Chunks chunks() const { return Chunks(std::string_view(room_.get(), filled_)); }

 private:
  std::shared_ptr<Intake> intake_;
  std::unique_ptr<char[]> room_;
  size_t size_ = 0;
  size_t filled_ = 0;
};

}  // namespace millrace::transport

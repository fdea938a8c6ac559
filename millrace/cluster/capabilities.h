// Capabilities: what a task can do beyond what TensorFlow's protocol asks of every task.
//
// A task says it when it is asked for its devices; whoever starts a session keeps it with each
// member, so that nothing has to be tried out on a step. A task that says nothing is one of
// TensorFlow's: every extension must be left out towards it, or be one that it skips. What the
// connection itself has to know is not here, but in headers (transport/protocol/promises.h).
//
// A value. Bits that this version does not know stay in it and mean nothing.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace millrace {

// Numbers are on the wire (GetStatusResponse.capabilities): they never change.
enum class Capability : uint8_t {
  tensor_parts = 0,   // takes and gives a large tensor as several messages
  dead_values = 1,    // tells which values of a part's answer are dead
  error_details = 2,  // takes and gives what makes an error whole, beside its code and text
  departures = 3,     // keeps who has ended well, and hears farewells
};

class Capabilities {
 public:
  Capabilities() = default;
  Capabilities(std::initializer_list<Capability> all) {
    for (const Capability one : all) bits_ |= bit(one);
  }
  // Of every task of this version.
  static Capabilities own() {
    return {Capability::tensor_parts, Capability::dead_values, Capability::error_details,
            Capability::departures};
  }
  static Capabilities from_bits(uint64_t bits) {
    Capabilities some;
    some.bits_ = bits;
    return some;
  }
  uint64_t bits() const { return bits_; }

  bool has(Capability one) const { return (bits_ & bit(one)) != 0; }
  // Nothing beyond TensorFlow's protocol.
  bool empty() const { return bits_ == 0; }
  friend bool operator==(const Capabilities&, const Capabilities&) = default;

 private:
  static uint64_t bit(Capability one) { return uint64_t{1} << static_cast<int>(one); }

  uint64_t bits_ = 0;
};

}  // namespace millrace

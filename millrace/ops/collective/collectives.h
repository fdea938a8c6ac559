// Collectives: how a collective op meets the other members of its group.
//
// A collective is something that several devices do together in steps of their own: each brings a
// tensor, and each gets what became of all of them. The members of a group are found once, by its
// key; then every run of an op is an Exchange, in which pieces of tensors go from member to member.
// Which pieces go where is the op's business (schedule.h); this says only how one comes from here
// to there, and that every wait ends: with the step, with the op's timeout, or because a member
// that is waited for is lost or has given up.
//
// The worker implements it (worker/collective_desk.h) and leaves it with the resources of its
// devices. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"

#include "millrace/base/done.h"
#include "millrace/op/kernel.h"
#include "millrace/op/resource.h"

namespace millrace {

// What a node says of the collective that it takes part in.
struct CollectiveCall {
  int64_t group_key = 0;
  int64_t group_size = 1;
  int64_t instance_key = 0;
  // Only one member of a broadcast has something to send; the others learn which.
  enum class Part : uint8_t { equal, sends, receives } part = Part::equal;
  std::chrono::milliseconds timeout{0};  // 0: none
  // What the member does and brings, "Add of float[3]": must be the same for all. No ';' or '/'.
  std::shared_ptr<const std::string> signature = {};
};

// Which piece: a chunk goes from one member to another one once in each stage.
struct Piece {
  int chunk = 0;
  int stage = 0;
  // Pieces of one slot are laid out one after the other, in order of waves. A slot that is used
  // again finds its memory near. Chunks and slots are numbered alike by all members.
  int slot = 0;
  int wave = 0;
};

// One run of one collective at one member.
class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // The rank of who sends, in a broadcast.
  virtual int source() const = 0;
  // Whether all members are on one machine, where small pieces cost little. All members see it
  // alike.
  virtual bool is_near() const { return false; }
  // How a member is called in messages.
  virtual std::string_view member(int rank) const = 0;

  // Lays a piece out for a member, who takes it once. Nobody may write to the tensor from now on.
  virtual void give(int to, const Piece& piece, Tensor tensor) = 0;
  // Calls `use` with the piece if the member lays it out within microseconds; its memory is lent
  // until that returns. False: it has to be taken.
  virtual bool take_at_once(int /*from*/, const Piece& /*piece*/,
                            absl::FunctionRef<void(const Tensor&)> /*use*/) {
    return false;
  }
  // Gets the piece that a member has laid out, or will. `done` may be called inside this.
  virtual void take(int from, const Piece& piece, Done<Tensor> done) = 0;
  // Ends what is under way: takes are answered with `why`. Further calls do nothing.
  virtual void fail(const Status& why) = 0;
  // The member's part is over; the last call, and no take may be under way. After success `done` is
  // answered once everything has been taken that was laid out; a failure is told to the others,
  // who then need not wait. `done` gets the error that counts.
  virtual void end(Status how, Done<void> done) = 0;
};

class Collectives : public Resource {
 public:
  static constexpr std::string_view kTypeName = "collectives";
  // Where it stands among the resources of a device: no name that a graph could give one.
  static constexpr std::string_view kContainer = "/collectives";

  // Answers when all members of the group have come, or with what is in the way. The context stays
  // valid until the exchange has ended.
  virtual void begin(const CollectiveCall& call, KernelContext& context,
                     Done<std::shared_ptr<Exchange>> done) = 0;
};

}  // namespace millrace

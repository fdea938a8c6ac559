// KeptState: the queues and variables of one task, kept on its disk (docs/design/durable.md).
//
// Owns the resources of the task's devices, which outlive it where others hold them, and the
// journal. What was kept is among them when it is opened. Kernels know nothing of it: they tell the
// names of what they make (kept_names.h), and whether a variable has changed is seen by its buffer,
// which nobody writes into while it is held here. So a variable costs twice its memory.
//
// Updates that are made once are told with what they have changed, in one group: those of variables
// because none is under way at the moment at which both are looked at (AppliedUpdates::Still), and
// those of queues because the queue notes the name with the element (QueueElement::made_by).
//
// A step on the task has been acknowledged when commit() has answered after it. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/host.h"
#include "millrace/io/journal.h"
#include "millrace/ops/state/applied_updates.h"
#include "millrace/ops/state/kept_names.h"
#include "millrace/ops/state/kept_replay.h"
#include "millrace/ops/state/queue.h"

namespace millrace {

struct KeptStateOptions {
  std::string folder;
  std::string default_container;  // of the devices' resources
  int devices = 1;
  Keep keep = Keep::all;  // what has been kept in an earlier life is kept in any case
  uint64_t spare_bytes = io::JournalOptions().spare_bytes;
  // Where commits are answered; outlives the state. Null: the host's pool.
  Runner* answers = nullptr;
  // Who has all that is kept, too; outlives the state. Null: nobody.
  io::JournalFollower* follower = nullptr;
};

class KeptState final : private io::Journaled {
 public:
  // Waits for the disk. Errors: as Journal::open(); FAILED_PRECONDITION if the host's files can't
  // be kept, or if there are resources of more devices than the task has now.
  static Result<std::shared_ptr<KeptState>> open(const Host& host, KeptStateOptions options);
  ~KeptState() override;

  const std::shared_ptr<ResourceStore>& resources(size_t device) const {
    return devices_[device].resources;
  }
  // Answers once all that was changed before this call is on the disk.
  void commit(Done<void> done) { journal_->commit(std::move(done)); }
  // Brings everything to the disk; nothing that happens afterwards is kept, and commits are refused
  // with `why`. Waits for the disk. To be called before resources are dropped because the task
  // ends.
  Status close(const Status& why) { return journal_->close(why); }

  Keep keep() const { return keep_; }
  // Of the state, whichever life of the task has it: 16 hexadecimal digits, drawn when it began.
  std::string identity() const;
  // What there was when it was opened: "2 variables and 1 queue of 17 elements in '...'".
  const std::string& found_text() const { return found_text_; }

 private:
  struct Device {
    std::shared_ptr<ResourceStore> resources;
    std::shared_ptr<KeptNames> names;
    std::shared_ptr<AppliedUpdates> updates = nullptr;
    bool is_new = true;    // nothing of these updates has been told
    bool is_told = false;  // there is a record of some
  };
  // What is known of a resource.
  struct Known {
    std::weak_ptr<Resource> made;
    bool is_told = false;                      // there is a record of it
    std::optional<Tensor> value;               // of a variable, as it was told
    std::shared_ptr<StoredVariable> variable;  // as it is to be told, with its
    Tensor now;                                // value at that moment
    std::shared_ptr<Queue> queue;
    bool was_closed = false;
  };
  using Key = std::pair<KeptKind, KeptName>;
  enum class Extent : uint8_t { all, changes };

  KeptState(Random& random, const KeptStateOptions& options);
  Status put_all(io::RecordSink sink) override { return put(Extent::all, sink); }
  Status put_changes(io::RecordSink sink) override { return put(Extent::changes, sink); }
  Status put(Extent extent, io::RecordSink sink);
  // All variables, and all that is known of applied updates, at a moment at which no update is
  // made.
  std::vector<AppliedBook::Changes> look(Extent extent);
  Status put_applied(Extent extent, size_t device, AppliedBook::Changes changes,
                     io::RecordSink sink);
  Status put_variable(Extent extent, const KeptName& name, Known& known, io::RecordSink sink);
  Status put_queue(Extent extent, const KeptName& name, Known& known, io::RecordSink sink);
  static Status put_gone(Extent extent, const Key& key, Known& known, io::RecordSink sink);
  void learn_names();
  void learn_updates(Device& device);
  // Makes what was kept.
  Status move_in(KeptReplay replay);

  Random& random_;
  const Keep keep_;
  std::vector<Device> devices_;  // constant after construction
  std::string found_text_;       // set by open()
  uint64_t identity_ = 0;        // set by open()
  // Of whoever writes the journal.
  std::optional<KeptReplay> replay_;  // what was found, until it is among the resources
  std::map<Key, Known> known_;
  std::unique_ptr<io::Journal> journal_;  // set by open()
};

}  // namespace millrace

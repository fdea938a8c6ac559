#include "millrace/ops/state/kept_state.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include "millrace/base/str_cat.h"

namespace millrace {
namespace {

// A buffer that is held is written into by nobody: the same one has the same elements.
bool is_same_value(const Tensor& a, const Tensor& b) {
  return a.buffer() == b.buffer() && a.data() == b.data() && a.dtype() == b.dtype() &&
         a.shape() == b.shape();
}

Status too_few_devices(uint64_t device, size_t devices) {
  return failed_precondition("there is state of device ", device, ", and the task has ", devices,
                             " now; start it with --cpu-devices ", device + 1, " at least");
}

std::string counted(size_t count, std::string_view what) {
  return str_cat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace

KeptState::KeptState(Random& random, const KeptStateOptions& options)
    : random_(random), keep_(options.keep) {
  for (int i = 0; i < options.devices; ++i) {
    Device device{.resources = std::make_shared<ResourceStore>(options.default_container),
                  .names = std::make_shared<KeptNames>(options.keep)};
    // Nobody else gives anything that name.
    (void)device.resources->add<KeptNames>(KeptNames::kContainer, "", device.names);
    learn_updates(device);
    devices_.push_back(std::move(device));
  }
}

KeptState::~KeptState() { journal_.reset(); }

Result<std::shared_ptr<KeptState>> KeptState::open(const Host& host, KeptStateOptions options) {
  auto* const files = dynamic_cast<LastingFiles*>(&host.files);
  if (files == nullptr) {
    return failed_precondition("'", options.folder,
                               "' can't hold a state: the files of this machine don't last");
  }
  std::shared_ptr<KeptState> made(new KeptState(host.random, options));
  for (const Device& device : made->devices_) {
    device.names->commit_with([weak = std::weak_ptr<KeptState>(made)](Done<void> done) {
      if (const auto state = weak.lock()) return state->commit(std::move(done));
      done(cancelled("the task that kept its state has ended"));
    });
  }
  made->replay_.emplace();
  Runner& answers = options.answers != nullptr ? *options.answers : host.pool;
  MR_ASSIGN(made->journal_,
            io::Journal::open({*files, host.random, host.blocking, answers},
                              {.folder = options.folder,
                               .spare_bytes = options.spare_bytes,
                               .follower = options.follower},
                              *made,
                              [&](std::string_view record) { return made->replay_->apply(record); })
                .with("the state of the task"));
  const io::JournalFound& found = made->journal_->found();
  if (found.torn_bytes > 0)
    str_append(&made->found_text_, "; ", found.torn_bytes,
               " bytes of a last group that was not acknowledged are left out");
  str_append(&made->found_text_, " in '", options.folder, "'");
  return made;
}

std::string KeptState::identity() const {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, identity_);
  return text;
}

Status KeptState::move_in(KeptReplay replay) {
  MR_TRY(replay.check());
  identity_ = replay.identity();
  while (identity_ == 0) identity_ = random_.next();
  size_t num_elements = 0;
  for (const auto& [name, variable] : replay.variables()) {
    if (name.device >= devices_.size()) return too_few_devices(name.device, devices_.size());
    const auto made = std::make_shared<StoredVariable>(name.name, variable.dtype, variable.shape);
    made->keep();
    {
      MutexLock lock(made->mutex());
      *made->tensor() = variable.value;
    }
    MR_TRY(devices_[name.device].resources->add<StoredVariable>(name.container, name.name, made));
    known_[{KeptKind::variable, name}].made = made;
  }
  for (auto& [name, state] : replay.queues()) {
    if (name.device >= devices_.size()) return too_few_devices(name.device, devices_.size());
    num_elements += state.elements.size();
    std::deque<QueueElement> dead;
    for (const uint64_t number : state.loans.dead) {
      dead.push_back(state.elements.at(number));
      dead.back().kept_as = number;
    }
    for (size_t i = 0; i < state.loans.elements.size(); ++i)
      state.elements.at(state.loans.elements[i]).lent_as = state.loans.book.open[i].number;
    auto order = std::make_unique<KeptOrder>(order_of(state.queue.spec, &random_));
    order->put_back(std::move(state.elements), state.queue.next_number,
                    {state.loans.dead.begin(), state.loans.dead.end()});
    const auto made = std::make_shared<Queue>(state.queue.spec, name.name, std::move(order));
    if (state.loans.incarnation != 0) made->put_back(state.loans, std::move(dead));
    if (state.queue.is_closed) MR_TRY(made->close_queue(PendingEnqueues::keep));
    MR_TRY(devices_[name.device].resources->add<Queue>(name.container, name.name, made));
    known_[{KeptKind::queue, name}].made = made;
  }
  for (auto& [number, book] : replay.books()) {
    if (number >= devices_.size()) return too_few_devices(number, devices_.size());
    Device& device = devices_[number];
    (void)device.resources->remove<AppliedUpdates>(AppliedUpdates::kContainer, "");
    device.is_new = true;
    device.updates = std::make_shared<AppliedUpdates>(device.names, std::move(book));
    MR_TRY(device.resources->add<AppliedUpdates>(AppliedUpdates::kContainer, "", device.updates));
  }
  found_text_ =
      str_cat(counted(replay.variables().size(), "variable"), " and ",
              counted(replay.queues().size(), "queue"), " with ", counted(num_elements, "element"));
  return {};
}

void KeptState::learn_names() {
  for (size_t i = 0; i < devices_.size(); ++i) {
    // A reset may name any container, and has not been answered yet.
    if (KeptNames::of(*devices_[i].resources) == nullptr)
      (void)devices_[i].resources->add<KeptNames>(KeptNames::kContainer, "", devices_[i].names);
    for (KeptNames::Noted& noted : devices_[i].names->take_noted()) {
      Known& known = known_[{noted.kind, {i, std::move(noted.container), std::move(noted.name)}}];
      known.made = std::move(noted.made);
    }
  }
}

void KeptState::learn_updates(Device& device) {
  auto found = AppliedUpdates::of(*device.resources);
  if (!found.ok() || *found == device.updates) return;
  device.updates = *std::move(found);
  device.is_new = true;
}

std::vector<AppliedBook::Changes> KeptState::look(Extent extent) {
  std::vector<std::unique_ptr<AppliedUpdates::Still>> still;
  for (Device& device : devices_) {
    learn_updates(device);
    still.push_back(std::make_unique<AppliedUpdates::Still>(device.updates));
  }
  learn_names();
  for (auto& [key, known] : known_) {
    const auto& [kind, name] = key;
    if (kind != KeptKind::variable) continue;
    const auto found =
        devices_[name.device].resources->find<StoredVariable>(name.container, name.name);
    const bool is_kept = found.ok() && (*found)->is_kept();
    known.variable = is_kept ? *found : nullptr;
    known.now = is_kept ? (*found)->read() : Tensor();
  }
  std::vector<AppliedBook::Changes> applied;
  for (Device& device : devices_) {
    const bool all = extent == Extent::all || std::exchange(device.is_new, false);
    applied.push_back(device.updates->take_changes(all));
  }
  return applied;
}

Status KeptState::put_applied(Extent extent, size_t device, AppliedBook::Changes changes,
                              io::RecordSink sink) {
  bool& is_told = devices_[device].is_told;
  const KeptName name{device, "", ""};
  if (changes.is_all && is_told && extent == Extent::changes)
    MR_TRY(sink(encode_kept(KeptDropped{name, KeptKind::applied})));
  if (changes.is_all) is_told = false;
  for (AppliedBook::Part& part : changes.parts) {
    MR_TRY(sink(encode_kept(KeptApplied{name, std::move(part)})));
    is_told = true;
  }
  return {};
}

Status KeptState::put(Extent extent, io::RecordSink sink) {
  if (replay_) {
    MR_TRY(move_in(*std::exchange(replay_, std::nullopt)));
  }
  if (extent == Extent::all) MR_TRY(sink(encode_kept(KeptIdentity{{}, identity_})));
  std::vector<AppliedBook::Changes> applied = look(extent);
  for (size_t i = 0; i < devices_.size(); ++i)
    MR_TRY(put_applied(extent, i, std::move(applied[i]), sink));
  for (auto entry = known_.begin(); entry != known_.end();) {
    const auto& [kind, name] = entry->first;
    Known& known = entry->second;
    MR_TRY(kind == KeptKind::variable ? put_variable(extent, name, known, sink)
                                      : put_queue(extent, name, known, sink));
    // What was made and is not there yet will be, or nobody holds it any more.
    const bool is_over = !known.is_told && known.made.expired();
    entry = is_over ? known_.erase(entry) : std::next(entry);
  }
  return {};
}

Status KeptState::put_variable(Extent extent, const KeptName& name, Known& known,
                               io::RecordSink sink) {
  const std::shared_ptr<StoredVariable> variable = std::exchange(known.variable, nullptr);
  Tensor value = std::exchange(known.now, Tensor());
  if (!value.has_value()) return put_gone(extent, {KeptKind::variable, name}, known, sink);
  const bool is_known = known.is_told && known.value && is_same_value(value, *known.value);
  if (extent == Extent::changes && is_known) return {};
  MR_TRY(
      sink(encode_kept(KeptVariable{name, variable->dtype(), variable->declared_shape(), value})));
  known.value = std::move(value);
  known.is_told = true;
  return {};
}

Status KeptState::put_queue(Extent extent, const KeptName& name, Known& known,
                            io::RecordSink sink) {
  const auto found = devices_[name.device].resources->find<Queue>(name.container, name.name);
  if (!found.ok() || !(*found)->is_kept())
    return put_gone(extent, {KeptKind::queue, name}, known, sink);
  Queue& queue = **found;
  if (known.queue != *found) {
    // Another of this name may have been dropped meanwhile.
    MR_TRY(put_gone(extent, {KeptKind::queue, name}, known, sink));
    known.queue = *found;
  }
  const bool is_whole = extent == Extent::all || !known.is_told;
  Queue::KeptView view = is_whole ? queue.all_kept() : queue.kept_changes();
  if (is_whole || view.is_closed != known.was_closed)
    MR_TRY(sink(encode_kept(KeptQueue{name, queue.spec(), view.is_closed, view.next_number})));
  known.is_told = true;
  known.was_closed = view.is_closed;
  for (auto& [number, element] : view.changes.in)
    MR_TRY(sink(encode_kept(KeptIn{name, number, std::move(element)})));
  for (const std::shared_ptr<const UpdateName>& made : view.changes.made) {
    MR_TRY(sink(encode_kept(KeptMade{{name.device, "", ""}, *made})));
    devices_[name.device].updates->note_applied(*made);
    devices_[name.device].is_told = true;
  }
  if (!view.changes.out.empty())
    MR_TRY(sink(encode_kept(KeptOut{name, std::move(view.changes.out)})));
  if (view.loans) MR_TRY(sink(encode_kept(KeptLent{name, *std::move(view.loans)})));
  return {};
}

Status KeptState::put_gone(Extent extent, const Key& key, Known& known, io::RecordSink sink) {
  const bool is_to_tell = extent == Extent::changes && known.is_told;
  known.is_told = false;
  known.value.reset();
  known.queue.reset();
  if (!is_to_tell) return {};
  return sink(encode_kept(KeptDropped{key.second, key.first}));
}

}  // namespace millrace

// Part of families.h: register_dataset_scans, functions that carry state from element to element,
// and groups by key.
#include <deque>
#include <map>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/function_walk.h"

namespace millrace::data {
namespace {

// ---- Scan
// ----------------------------------------------------------------------------------------

class Scanning final : public DatasetIterator {
 public:
  Scanning(IteratorPtr input, WalkFunction function, Element state)
      : input_(std::move(input)), function_(std::move(function)), state_(std::move(state)) {}
  Result<Next> next(Pull& pull, Element* element) override {
    if (!call_.is_under_way()) {
      Element given;
      MR_ASSIGN(const Next next, input_->next(pull, &given));
      if (next != Next::element) return next;
      Element arguments = state_;
      std::ranges::move(given, std::back_inserter(arguments));
      function_.start(call_, std::move(arguments));
    }
    Element results;
    Result<bool> is_there = call_.poll(pull, &results);
    if (!is_there.ok()) {
      if (ends_sequence(is_there.status())) return Next::end;
      return std::move(is_there).status();
    }
    if (!*is_there) return Next::pending;
    const auto behind_state = results.begin() + static_cast<ptrdiff_t>(state_.size());
    element->assign(std::make_move_iterator(behind_state), std::make_move_iterator(results.end()));
    results.resize(state_.size());
    state_ = std::move(results);
    return Next::element;
  }

 private:
  const IteratorPtr input_;
  const WalkFunction function_;
  Element state_;
  Call call_;
};

class ScanDataset final : public DerivedDataset {
 public:
  ScanDataset(Components components, DatasetPtr input, CapturedPtr function, Element initial)
      : DerivedDataset(std::move(components), std::move(input)),
        function_(std::move(function)),
        initial_(std::move(initial)) {}
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    std::vector<DType> gives;
    for (const Tensor& state : initial_) gives.push_back(state.dtype());
    gives.insert(gives.end(), components().types.begin(), components().types.end());
    const size_t arguments = initial_.size() + input_->components().types.size();
    MR_ASSIGN(WalkFunction function, WalkFunction::create(host, function_, arguments, gives));
    return IteratorPtr(std::make_unique<Scanning>(std::move(input), std::move(function), initial_));
  }

 private:
  const CapturedPtr function_;
  const Element initial_;
};

Result<DatasetPtr> make_scan(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(Element initial, inputs.list("initial_state"));
  MR_ASSIGN(CapturedPtr function, inputs.function());
  return DatasetPtr(std::make_shared<ScanDataset>(std::move(components), std::move(input),
                                                  std::move(function), std::move(initial)));
}

// ---- GroupByWindow
// -------------------------------------------------------------------------------

// The elements of one group, as the dataset that reduce_func is given.
class Group final : public Dataset {
 public:
  Group(Components components, std::vector<Element> elements)
      : Dataset(std::move(components)),
        elements_(std::make_shared<const std::vector<Element>>(std::move(elements))) {}
  int64_t cardinality() const override { return static_cast<int64_t>(elements_->size()); }
  Result<IteratorPtr> iterate(const HostPtr&) const override {
    return IteratorPtr(std::make_unique<Walk>(elements_));
  }

 private:
  using Elements = std::shared_ptr<const std::vector<Element>>;
  class Walk final : public DatasetIterator {
   public:
    explicit Walk(Elements elements) : elements_(std::move(elements)) {}
    Result<Next> next(Pull&, Element* element) override {
      if (next_ == elements_->size()) return Next::end;
      *element = (*elements_)[next_++];
      return Next::element;
    }

   private:
    const Elements elements_;
    size_t next_ = 0;
  };
  const Elements elements_;
};

struct GroupFunctions {
  WalkFunction key, size, reduce;
};

class Grouping final : public DatasetIterator {
 public:
  Grouping(IteratorPtr input, Dataset::Components rows, std::vector<DType> gives,
           GroupFunctions functions, HostPtr host)
      : input_(std::move(input)),
        rows_(std::move(rows)),
        gives_(std::move(gives)),
        functions_(std::move(functions)),
        host_(std::move(host)) {}

  Result<Next> next(Pull& pull, Element* element) override {
    for (;;) {
      if (reduced_.is_open()) {
        MR_ASSIGN(const Next next, reduced_.iterator->next(pull, element));
        if (next != Next::end) return next;
        reduced_.close();
      }
      if (!call_.is_under_way()) {
        if (!pull.go_on(Pull::kDear)) return Next::pending;
        MR_ASSIGN(const Next next, begin_call(pull));
        if (next != Next::element) return next;
      }
      Element results;
      MR_ASSIGN(const bool is_there, call_.poll(pull, &results));
      if (!is_there) return Next::pending;
      MR_TRY(end_call(results));
    }
  }

 private:
  enum class Doing : uint8_t { key, size, reduce };

  // Begins the call that is next: of the key of a new element, or of what is left at the end.
  Result<Next> begin_call(Pull& pull) {
    if (input_ != nullptr) {
      MR_ASSIGN(const Next next, input_->next(pull, &element_));
      if (next == Next::pending) return next;
      if (next == Next::element) {
        doing_ = Doing::key;
        functions_.key.start(call_, element_);
        return next;
      }
      input_.reset();
    }
    if (groups_.empty()) return Next::end;
    key_ = groups_.begin()->first;
    reduce();
    return Next::element;
  }

  Status end_call(const Element& results) {
    switch (doing_) {
      case Doing::key: {
        MR_ASSIGN(key_, scalar_int64(results, "`key_func`"));
        const bool is_new = !sizes_.contains(key_);
        groups_[key_].push_back(std::move(element_));
        if (is_new) {
          doing_ = Doing::size;
          functions_.size.start(call_, {Tensor::scalar(key_)});
          return {};
        }
        break;
      }
      case Doing::size: {
        MR_ASSIGN(const int64_t size, scalar_int64(results, "`window_size_func`"));
        if (size <= 0) return invalid("Window size must be greater than zero, but got ", size, ".");
        sizes_[key_] = size;
        break;
      }
      case Doing::reduce: {
        MR_ASSIGN(reduced_, OwnedWalk::along(results, gives_, host_));
        return {};
      }
    }
    if (static_cast<int64_t>(groups_[key_].size()) >= sizes_[key_]) reduce();
    return {};
  }

  void reduce() {
    doing_ = Doing::reduce;
    auto group = groups_.extract(key_);
    sizes_.erase(key_);
    functions_.reduce.start(call_, {Tensor::scalar(key_), to_variant(std::make_shared<Group>(
                                                              rows_, std::move(group.mapped())))});
  }

  IteratorPtr input_;  // null once it has ended
  const Dataset::Components rows_;
  const std::vector<DType> gives_;
  const GroupFunctions functions_;
  const HostPtr host_;
  Doing doing_ = Doing::key;
  Call call_;
  Element element_;
  int64_t key_ = 0;
  std::map<int64_t, std::vector<Element>> groups_;
  std::map<int64_t, int64_t> sizes_;
  OwnedWalk reduced_;
};

struct GroupCaptures {
  CapturedPtr key, size, reduce;
};

class GroupByWindowDataset final : public DerivedDataset {
 public:
  GroupByWindowDataset(Components components, DatasetPtr input, GroupCaptures captures)
      : DerivedDataset(std::move(components), std::move(input)), captures_(std::move(captures)) {}
  int64_t cardinality() const override {
    return input_->cardinality() == kInfinite ? kInfinite : kUnknown;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr input, input_->iterate(host));
    const size_t width = input_->components().types.size();
    GroupFunctions functions;
    MR_ASSIGN(functions.key, WalkFunction::create(host, captures_.key, width, {DType::i64}));
    MR_ASSIGN(functions.size, WalkFunction::create(host, captures_.size, 1, {DType::i64}));
    MR_ASSIGN(functions.reduce, WalkFunction::create(host, captures_.reduce, 2, {DType::variant}));
    return IteratorPtr(std::make_unique<Grouping>(std::move(input), input_->components(),
                                                  components().types, std::move(functions), host));
  }

 private:
  const GroupCaptures captures_;
};

Result<DatasetPtr> make_groups(DatasetInputs& inputs) {
  MR_ASSIGN(DatasetPtr input, inputs.dataset());
  MR_ASSIGN(auto components, inputs.components());
  GroupCaptures captures;
  MR_ASSIGN(captures.key, inputs.function("key_func", "key_func_other_arguments"));
  MR_ASSIGN(captures.reduce, inputs.function("reduce_func", "reduce_func_other_arguments"));
  MR_ASSIGN(captures.size, inputs.function("window_size_func", "window_size_func_other_arguments"));
  return DatasetPtr(std::make_shared<GroupByWindowDataset>(std::move(components), std::move(input),
                                                           std::move(captures)));
}

}  // namespace

Status register_dataset_scans(OpRegistry& ops) {
  const std::string scanned =
      "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments";
  const std::string scan_attrs =
      str_cat("f: func, Tstate: list(type) >= 1, Targuments: list(type) >= 0, ", kOutputs,
              ", preserve_cardinality: bool = false");
  const std::string scan_doc = "What f gives for a state and each element, behind the next state.";
  MR_TRY(ops.add(dataset_op("ScanDataset", scan_doc, scanned,
                            scan_attrs + ", use_default_device: bool = true", make_scan)));
  MR_TRY(ops.add(dataset_op("ExperimentalScanDataset", scan_doc, scanned, scan_attrs, make_scan)));
  for (const char* name : {"GroupByWindowDataset", "ExperimentalGroupByWindowDataset"}) {
    MR_TRY(ops.add(dataset_op(
        name,
        "What reduce_func makes of the elements that key_func gives the same key, in groups of as "
        "many as window_size_func says for it.",
        "input_dataset: variant, key_func_other_arguments: Tkey_func_other_arguments, "
        "reduce_func_other_arguments: Treduce_func_other_arguments, "
        "window_size_func_other_arguments: Twindow_size_func_other_arguments",
        str_cat("key_func: func, reduce_func: func, window_size_func: func, "
                "Tkey_func_other_arguments: list(type) >= 0, "
                "Treduce_func_other_arguments: list(type) >= 0, "
                "Twindow_size_func_other_arguments: list(type) >= 0, ",
                kOutputs),
        make_groups)));
  }
  return {};
}

}  // namespace millrace::data

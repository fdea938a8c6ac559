// Part of families.h: register_dataset_choices, elements of several datasets as another one says.
#include <optional>
#include <utility>

#include "millrace/ops/data/dataset_kernel.h"
#include "millrace/ops/data/dataset_variant.h"
#include "millrace/ops/data/families.h"
#include "millrace/ops/data/iterator.h"

namespace millrace::data {
namespace {

enum class WhenEmpty : uint8_t { goes_on, ends };

class Choosing final : public DatasetIterator {
 public:
  Choosing(IteratorPtr selector, std::vector<IteratorPtr> inputs, WhenEmpty when_empty)
      : selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        open_(inputs_.size()),
        when_empty_(when_empty) {}
  Result<Next> next(Pull& pull, Element* element) override {
    while (open_ > 0) {
      if (!chosen_) {
        Element choice;
        MR_ASSIGN(const Next next, selector_->next(pull, &choice));
        if (next == Next::pending) return next;
        if (next == Next::end) break;
        MR_ASSIGN(chosen_, place_of(choice));
      }
      IteratorPtr& input = inputs_[*chosen_];
      if (input != nullptr) {
        const Result<Next> next = input->next(pull, element);
        if (next.ok() && *next == Next::pending) return next;
        // Also what failed was its turn.
        if (!next.ok() || *next == Next::element) {
          chosen_.reset();
          return next;
        }
        input.reset();
        --open_;
      }
      chosen_.reset();
      if (when_empty_ == WhenEmpty::ends) break;
      if (!pull.go_on()) return Next::pending;
    }
    open_ = 0;
    return Next::end;
  }

 private:
  Result<size_t> place_of(const Element& choice) const {
    const int64_t place = choice[0].num_elements() == 1 ? choice[0].item<int64_t>() : -1;
    if (place >= 0 && place < static_cast<int64_t>(inputs_.size()))
      return static_cast<size_t>(place);
    return invalid("Selector index out of range: ", choice[0].to_string(), " of ", inputs_.size(),
                   " datasets.");
  }

  const IteratorPtr selector_;
  std::vector<IteratorPtr> inputs_;  // null where there is nothing more
  size_t open_;
  const WhenEmpty when_empty_;
  std::optional<size_t> chosen_;  // and not taken from yet
};

class ChoiceDataset final : public Dataset {
 public:
  ChoiceDataset(Components components, DatasetPtr selector, std::vector<DatasetPtr> inputs,
                WhenEmpty when_empty)
      : Dataset(std::move(components)),
        selector_(std::move(selector)),
        inputs_(std::move(inputs)),
        when_empty_(when_empty) {}
  int64_t cardinality() const override {
    for (const DatasetPtr& input : inputs_)
      if (input->cardinality() == kInfinite) return kInfinite;
    return kUnknown;
  }
  Result<IteratorPtr> iterate(const HostPtr& host) const override {
    MR_ASSIGN(IteratorPtr selector, selector_->iterate(host));
    std::vector<IteratorPtr> inputs;
    for (const DatasetPtr& input : inputs_) {
      MR_ASSIGN(IteratorPtr walk, input->iterate(host));
      inputs.push_back(std::move(walk));
    }
    return IteratorPtr(
        std::make_unique<Choosing>(std::move(selector), std::move(inputs), when_empty_));
  }

 private:
  const DatasetPtr selector_;
  const std::vector<DatasetPtr> inputs_;
  const WhenEmpty when_empty_;
};

Result<DatasetPtr> make_choice(DatasetInputs& inputs, WhenEmpty when_empty) {
  MR_ASSIGN(auto components, inputs.components());
  MR_ASSIGN(DatasetPtr selector, inputs.dataset());
  if (selector->components().types != std::vector<DType>{DType::i64})
    return invalid("The selector dataset must have a single component, of int64");
  std::vector<DatasetPtr> all;
  for (int slot = 1; slot < inputs.context().num_inputs(); ++slot) {
    MR_ASSIGN(DatasetPtr input, inputs.dataset(slot));
    MR_TRY(check_components({components.types, {}}, input->components())
               .with(str_cat("data_input_datasets[", slot - 1, "]")));
    all.push_back(std::move(input));
  }
  return DatasetPtr(std::make_shared<ChoiceDataset>(std::move(components), std::move(selector),
                                                    std::move(all), when_empty));
}

Result<DatasetPtr> make_old_choice(DatasetInputs& inputs) {
  return make_choice(inputs, WhenEmpty::goes_on);
}
Result<DatasetPtr> make_new_choice(DatasetInputs& inputs) {
  MR_ASSIGN(const bool stops, inputs.attrs().boolean("stop_on_empty_dataset"));
  return make_choice(inputs, stops ? WhenEmpty::ends : WhenEmpty::goes_on);
}

}  // namespace

Status register_dataset_choices(OpRegistry& ops) {
  const std::string doc =
      "The next element of that one of several datasets whose number comes next in another.";
  const std::string inputs = "selector_input_dataset: variant, data_input_datasets: N*variant";
  MR_TRY(ops.add(dataset_op("DirectedInterleaveDataset", doc, inputs,
                            str_cat(kOutputs, ", N: int >= 1, stop_on_empty_dataset: bool = false"),
                            make_new_choice)));
  return ops.add(dataset_op("ExperimentalDirectedInterleaveDataset", doc, inputs,
                            str_cat(kOutputs, ", N: int >= 1"), make_old_choice));
}

}  // namespace millrace::data

#include "millrace/ops/ctc/beam.h"

#include <algorithm>
#include <cmath>

#include "millrace/ops/ctc/log_sum.h"

namespace millrace {

template <class T>
typename CtcBeam<T>::Chances CtcBeam<T>::Chances::none() {
  return {kNever<T>, kNever<T>, kNever<T>};
}

template <class T>
bool CtcBeam<T>::IsBetter::operator()(const Node* a, const Node* b) const {
  // What is no number is not probable at all; a set needs an order of everything.
  const T x = std::isnan(a->now.total) ? kNever<T> : a->now.total;
  const T y = std::isnan(b->now.total) ? kNever<T> : b->now.total;
  return x != y ? x > y : a->since < b->since;
}

template <class T>
CtcBeam<T>::CtcBeam(int64_t classes, int64_t width, size_t most_nodes)
    : classes_(classes), width_(width), most_nodes_(most_nodes) {
  Node* const root = new_node(nullptr, -1);
  root->now = {0, 0, kNever<T>};
  follow(root);
}

template <class T>
typename CtcBeam<T>::Node* CtcBeam<T>::new_node(Node* parent, int32_t label) {
  Node* node = nullptr;
  if (free_.empty()) {
    node = &nodes_.emplace_back();
  } else {
    node = free_.back();
    free_.pop_back();
  }
  node->parent = parent;
  node->label = label;
  node->uses = 0;
  node->before = node->now = Chances::none();
  if (parent != nullptr) {
    parent->children.emplace(label, node);
    ++parent->uses;
  }
  return node;
}

// The node, and those above it, as far as nothing else needs them.
template <class T>
void CtcBeam<T>::let_go(Node* node) {
  while (node != nullptr && node->uses == 0) {
    Node* const parent = node->parent;
    if (parent != nullptr) {
      parent->children.erase(node->label);
      --parent->uses;
    }
    node->uses = -1;
    free_.push_back(node);
    node = parent;
  }
}

template <class T>
void CtcBeam<T>::follow(Node* node) {
  if (static_cast<int64_t>(followed_.size()) == width_) {
    Node* const worst = *followed_.rbegin();
    unfollow(worst);
    ++worst->uses;  // until the step is over: it may have children yet
    dropped_.push_back(worst);
    worst->now = Chances::none();
  }
  node->since = next_++;
  node->is_followed = true;
  ++node->uses;
  followed_.insert(node);
}

template <class T>
void CtcBeam<T>::unfollow(Node* node) {
  followed_.erase(node);
  node->is_followed = false;
  --node->uses;
}

template <class T>
bool CtcBeam<T>::can_follow(T chance) const {
  return chance > kNever<T> && (static_cast<int64_t>(followed_.size()) < width_ ||
                                chance > (*followed_.rbegin())->now.total);
}

template <class T>
Status CtcBeam<T>::grow(Node* node, std::span<const T> logits, T offset, CancelProbe& probe) {
  for (int32_t label = 0; label + 1 < classes_; ++label) {
    if (!probe.go_on(1)) return probe.status();
    const auto known = node->children.find(label);
    Node* child = known == node->children.end() ? nullptr : known->second;
    if (child != nullptr && child->now.total != kNever<T>) continue;
    const T from = label == node->label ? node->before.blank : node->before.total;
    const T chance = logits[static_cast<size_t>(label)] - offset + from;
    if (!can_follow(chance)) continue;
    if (child == nullptr) {
      if (nodes_.size() - free_.size() >= most_nodes_) {
        return error(Code::resource_exhausted, "a beam of ", width_, " lists over ", classes_,
                     " classes needs more than ", most_nodes_, " nodes");
      }
      child = new_node(node, label);
    }
    // It may be followed although nothing led to it: its place in the order is about to change.
    if (child->is_followed) unfollow(child);
    child->now = {chance, kNever<T>, chance};
    follow(child);
  }
  return {};
}

template <class T>
Status CtcBeam<T>::step(std::span<const T> logits, CancelProbe& probe) {
  // Probabilities, not only their ratios: as TensorFlow, since 2.1.
  const T largest = *std::ranges::max_element(logits);
  T sum = 0;
  for (const T logit : logits) sum += std::exp(logit - largest);
  const T offset = largest + std::log(sum);
  const T of_blank = logits.back() - offset;

  const std::vector<Node*> branches(followed_.begin(), followed_.end());
  for (Node* branch : branches) {
    unfollow(branch);
    branch->before = branch->now;
  }
  for (Node* branch : branches) {
    Chances& now = branch->now;
    if (Node* const parent = branch->parent; parent != nullptr) {
      if (parent->now.total != kNever<T>) {
        const T from = branch->label == parent->label ? parent->before.blank : parent->before.total;
        now.label = log_sum(now.label, from);
      }
      now.label += logits[static_cast<size_t>(branch->label)] - offset;
    }
    now.blank = branch->before.total + of_blank;
    now.total = log_sum(now.blank, now.label);
    follow(branch);
  }
  for (Node* branch : branches) {
    if (!can_follow(branch->before.total)) continue;
    MR_TRY(grow(branch, logits, offset, probe));
  }
  for (Node* node : dropped_) --node->uses;
  for (Node* node : dropped_) let_go(node);
  dropped_.clear();
  return {};
}

template <class T>
Result<std::vector<CtcPath<T>>> CtcBeam<T>::best(int64_t number, Runs runs) const {
  if (number > width_) return invalid("requested more paths than the beam width.");
  if (number > static_cast<int64_t>(followed_.size()))
    return invalid("Less leaves in the beam search than requested.");
  std::vector<CtcPath<T>> paths;
  for (const Node* leaf : followed_) {
    if (static_cast<int64_t>(paths.size()) == number) break;
    CtcPath<T>& path = paths.emplace_back();
    path.log_probability = leaf->now.total;
    int32_t after = -1;
    for (const Node* node = leaf; node->parent != nullptr; node = node->parent) {
      if (runs == Runs::kept || node->label != after) path.labels.push_back(node->label);
      after = node->label;
    }
    std::ranges::reverse(path.labels);
  }
  return paths;
}

template class CtcBeam<float>;
template class CtcBeam<double>;

}  // namespace millrace

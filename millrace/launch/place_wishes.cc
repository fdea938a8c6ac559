#include "millrace/launch/place_wishes.h"

#include <algorithm>
#include <csignal>

#include "millrace/base/str_cat.h"
#include "millrace/launch/job.h"
#include "millrace/launch/nearest_name.h"
#include "millrace/launch/signal_words.h"

namespace millrace {
namespace {

constexpr std::string_view kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
constexpr std::pair<std::string_view, std::string_view> kTopologies[] = {
    {"machine", "kubernetes.io/hostname"},
    {"zone", "topology.kubernetes.io/zone"},
    {"region", "topology.kubernetes.io/region"}};
// What Kubernetes and Millrace say of a job's objects themselves.
constexpr std::string_view kOwnLabels[] = {"app.kubernetes.io/", "batch.kubernetes.io/",
                                           "kueue.x-k8s.io/", "millrace", "job-name"};

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || marks.find(c) != std::string_view::npos;
  });
}

// "gpu", "example.com/gpu": a label's key, a taint's, an annotation's.
bool is_label(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const std::string_view domain = slash == std::string_view::npos ? "" : text.substr(0, slash);
  return !name.empty() && name.size() <= 63 && consists_of(name, "-._") &&
         is_letter_or_digit(name.front()) && is_letter_or_digit(name.back()) &&
         (slash == std::string_view::npos ||
          (!domain.empty() && domain.size() <= 253 && consists_of(domain, "-.")));
}

bool is_label_value(std::string_view text) {
  return text.empty() || (text.size() <= 63 && consists_of(text, "-._") &&
                          is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()));
}

// A name in DNS, as objects of Kubernetes have.
bool is_object_name(std::string_view text) {
  return text.size() <= 253 && is_letter_or_digit(text.front()) &&
         is_letter_or_digit(text.back()) && consists_of(text, "-.") &&
         std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

Status check_object_name(std::string_view key, const std::string& name) {
  if (name.empty() || is_object_name(name)) return {};
  return invalid("kubernetes.", key, ": '", name.substr(0, 80),
                 "' is no name of an object: lower-case letters, digits, dashes and dots");
}

Status check_topology(std::string_view key, const std::string& name) {
  if (name.empty() || is_label(topology_label(name))) return {};
  return invalid("kubernetes.", key, ": '", name.substr(0, 80),
                 "' is no label of machines; write machine, zone, region, or a label's key");
}

Status check_own(std::string_view key, const std::string& name) {
  if (!is_label(name))
    return invalid("kubernetes.", key, ": '", name.substr(0, 80), "' is no key of a label");
  for (const std::string_view own : kOwnLabels)
    if (name.starts_with(own))
      return invalid("kubernetes.", key, ": ", name,
                     " is one that the job's objects have of their own; choose another");
  return {};
}

// Words of a directive's line, or of a command's.
Status check_word(std::string_view key, const std::string& word, std::string_view marks) {
  if (word.empty() || consists_of(word, marks)) return {};
  return invalid("slurm.", key, ": '", word.substr(0, 80), "' has what no name has: letters, ",
                 "digits and ", marks, " are allowed");
}

}  // namespace

Result<Toleration> parse_toleration(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return invalid("'", text.substr(0, 80), "' is no toleration: ", why,
                   "; write KEY, KEY:EFFECT, KEY=VALUE:EFFECT, or KEY:NoExecute for 10m");
  };
  Toleration toleration;
  std::string_view rest = text;
  constexpr std::string_view kFor = " for ";
  if (const size_t at = rest.find(kFor); at != std::string_view::npos) {
    MR_ASSIGN(const auto time, parse_duration(rest.substr(at + kFor.size())));
    toleration.seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
    rest = rest.substr(0, at);
  }
  if (const size_t colon = rest.rfind(':'); colon != std::string_view::npos) {
    toleration.effect = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
    if (std::ranges::find(kEffects, toleration.effect) == std::end(kEffects)) {
      const std::string_view near = nearest_name(toleration.effect, kEffects);
      return refuse(str_cat("effects are NoSchedule, PreferNoSchedule and NoExecute",
                            near.empty() ? "" : str_cat(" (did you mean ", near, "?)")));
    }
  }
  if (toleration.seconds && toleration.effect != "NoExecute")
    return refuse("a time goes with NoExecute alone");
  if (const size_t equals = rest.find('='); equals != std::string_view::npos) {
    toleration.value = rest.substr(equals + 1);
    rest = rest.substr(0, equals);
    if (!is_label_value(*toleration.value)) return refuse("its value is none of a taint");
  }
  if (rest == "*" && !toleration.value) return toleration;
  if (!is_label(rest)) return refuse("its key is none of a taint");
  toleration.key = rest;
  return toleration;
}

std::string to_text(const Toleration& toleration) {
  std::string text = toleration.key.empty() ? "*" : toleration.key;
  if (toleration.value) str_append(&text, "=", *toleration.value);
  if (!toleration.effect.empty()) str_append(&text, ":", toleration.effect);
  if (toleration.seconds) str_append(&text, " for ", *toleration.seconds, "s");
  return text;
}

KubernetesWishes merged(const KubernetesWishes& job, const KubernetesWishes& role) {
  KubernetesWishes all = job;
  for (const Toleration& toleration : role.tolerations)
    if (std::ranges::find(all.tolerations, toleration) == all.tolerations.end())
      all.tolerations.push_back(toleration);
  for (const std::string& secret : role.pull_secrets)
    if (std::ranges::find(all.pull_secrets, secret) == all.pull_secrets.end())
      all.pull_secrets.push_back(secret);
  for (const auto& [name, value] : role.labels) all.labels[name] = value;
  for (const auto& [name, value] : role.annotations) all.annotations[name] = value;
  const auto say = [](std::string& place, const std::string& text) {
    if (!text.empty()) place = text;
  };
  say(all.priority, role.priority);
  say(all.service_account, role.service_account);
  say(all.spread, role.spread);
  say(all.apart, role.apart);
  say(all.near, role.near);
  if (role.shm > 0) all.shm = role.shm;
  return all;
}

std::string topology_label(const std::string& name) {
  for (const auto& [word, label] : kTopologies)
    if (name == word) return std::string(label);
  return name;
}

int warn_signal_of(const SlurmWishes& wishes) {
  return signal_number(wishes.warn_signal).value_or(SIGUSR1);
}

Status check_wishes(const KubernetesWishes& wishes) {
  MR_TRY(check_object_name("priority", wishes.priority));
  MR_TRY(check_object_name("service_account", wishes.service_account));
  MR_TRY(check_object_name("scheduler", wishes.scheduler));
  for (const std::string& name : wishes.pull_secrets) {
    if (name.empty()) return invalid("kubernetes.pull_secrets: a name is empty");
    MR_TRY(check_object_name("pull_secrets", name));
  }
  MR_TRY(check_topology("spread", wishes.spread));
  MR_TRY(check_topology("apart", wishes.apart));
  MR_TRY(check_topology("near", wishes.near));
  for (const auto& [name, value] : wishes.labels) {
    MR_TRY(check_own("labels", name));
    if (!is_label_value(value))
      return invalid("kubernetes.labels.", name, ": '", value.substr(0, 80),
                     "' is no value of a label: at most 63 letters, digits, '-', '_' and '.', a "
                     "letter or digit at both ends");
  }
  for (const auto& [name, value] : wishes.annotations) MR_TRY(check_own("annotations", name));
  return {};
}

Status check_wishes(const SlurmWishes& wishes) {
  MR_TRY(check_word("account", wishes.account, "-_.@+"));
  MR_TRY(check_word("qos", wishes.qos, "-_.@+"));
  MR_TRY(check_word("reservation", wishes.reservation, "-_.@+,"));
  if (!wishes.warn_signal.empty() && !signal_number(wishes.warn_signal))
    return invalid("slurm.warn_signal: '", wishes.warn_signal.substr(0, 80),
                   "' is no signal that a program can answer: USR1, USR2, HUP, INT, TERM");
  if (!wishes.warn_signal.empty() && wishes.warn.count() == 0)
    return invalid("slurm.warn_signal: it goes with slurm.warn, which says when");
  // Slurm's own words: "a100&nvme", "[rack1|rack2]", "intel*2", "(a|b)".
  return check_word("constraint", wishes.constraint, "-_.:&|[]()*");
}

Status check_wishes(const YarnWishes& wishes) {
  for (const std::string& tag : wishes.tags) {
    const bool is_ascii = std::ranges::all_of(tag, [](char c) { return c > ' ' && c < 127; });
    if (!tag.empty() && tag.size() <= 100 && is_ascii && tag.find(',') == std::string::npos)
      continue;
    return invalid("yarn.tags: '", tag.substr(0, 80),
                   "' is no tag: at most 100 letters, without blanks and commas");
  }
  return {};
}

}  // namespace millrace

#include "millrace/launch/place_sections.h"

#include "millrace/launch/job.h"

namespace millrace::job_file {
namespace {

constexpr ValueType kList{
    "a text, or a list",
    R"({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})"};
constexpr ValueType kPriority{"whole number", R"({"type": "integer", "minimum": 0})"};
constexpr ValueType kRuns{"whole number", R"({"type": "integer", "minimum": 1, "maximum": 1000})"};
constexpr int kHighestPriority = 1'000'000'000;

// Unlike those of a command, the words of one text stay together.
Status put_list(const YamlValue& value, std::vector<std::string>& list) {
  MR_ASSIGN(const std::vector<YamlValue> elements, value.elements());
  for (const YamlValue& element : elements) MR_TRY(put(element.text(), list.emplace_back()));
  return {};
}

Status put_tolerations(const YamlValue& value, std::vector<Toleration>& tolerations) {
  MR_ASSIGN(const std::vector<YamlValue> elements, value.elements());
  for (const YamlValue& element : elements)
    MR_TRY(put_parsed(element, parse_toleration, tolerations.emplace_back()));
  return {};
}

constexpr Key<KubernetesWishes> kKubernetesKeys[] = {
    {"tolerations", kList, "none",
     "Machines that keep others off, as taints are written: gpu=yes:NoSchedule, spot, "
     "spot:NoExecute for 10m.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put_tolerations(value, wishes.tolerations);
     }},
    {"priority", kText, "the cluster's", "A PriorityClass.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.priority);
     }},
    {"service_account", kText, "the namespace's",
     "As whom pods run; its login is then in them, which it is not otherwise.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.service_account);
     }},
    {"pull_secrets", kList, "none", "Secrets with the logins of the image's registry.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put_list(value, wishes.pull_secrets);
     }},
    {"labels", kTexts, "", "Of all objects of the job, or of the role's.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put_labels(value, wishes.labels);
     }},
    {"annotations", kTexts, "", "Of the pods.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put_labels(value, wishes.annotations);
     }},
    {"spread", kText, "no",
     "A role's tasks are spread evenly, as far as may be, over: machine, zone, region, or a label.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.spread);
     }},
    {"apart", kText, "no",
     "No two tasks of a role are on the same: machine, zone, region, or value of a label.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.apart);
     }},
    {"near", kText, "no",
     "The job's tasks are, as far as may be, in the same: machine, zone, region, or value of a "
     "label.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.near);
     }},
    {"scheduler", kText, "the cluster's",
     "Who finds machines, of the whole job. With volcano, its PodGroup has them begin together, in "
     "`queue`.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.text(), wishes.scheduler);
     }},
    {"shm", kBytes, "the container's (64Mi)", "How large /dev/shm is; it counts as memory.",
     [](const YamlValue& value, KubernetesWishes& wishes) {
       return put(value.bytes(), wishes.shm);
     }},
};

constexpr Key<SlurmWishes> kSlurmKeys[] = {
    {"account", kText, "the user's", "Who pays.",
     [](const YamlValue& value, SlurmWishes& wishes) { return put(value.text(), wishes.account); }},
    {"qos", kText, "the account's", "The quality of service.",
     [](const YamlValue& value, SlurmWishes& wishes) { return put(value.text(), wishes.qos); }},
    {"reservation", kText, "none", "Machines that are reserved.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put(value.text(), wishes.reservation);
     }},
    {"constraint", kText, "none", "Features of machines, in Slurm's words, beside `nodes`.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put(value.text(), wishes.constraint);
     }},
    {"exclusive", kYesNo, "false", "Machines without tasks of other jobs.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put_yes_no(value, wishes.exclusive);
     }},
    {"requeue", kYesNo, "false",
     "The job begins again as a whole when Slurm preempts it, one of its machines is lost, or "
     "somebody says scontrol requeue. Its tasks' attempts are counted on.",
     [](const YamlValue& value, SlurmWishes& wishes) { return put_yes_no(value, wishes.requeue); }},
    {"runs", kRuns, "1",
     "How often the job runs at most, once after the other, until it has succeeded: as an array "
     "(--array=1-N%1). Each run goes on from what the one before has kept, whether its time was "
     "over or it failed.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put(value.whole_number(1, kMostRuns), wishes.runs);
     }},
    {"warn", kDuration, "no",
     "So long before the time limit, the job's or its allocation's, every task gets a signal, "
     "once: "
     "to save what it has.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put(value.duration(), wishes.warn);
     }},
    {"warn_signal", kText, "USR1", "Which one. It ends a program that does not handle it.",
     [](const YamlValue& value, SlurmWishes& wishes) {
       return put(value.text(), wishes.warn_signal);
     }},
};

constexpr Key<YarnWishes> kYarnKeys[] = {
    {"priority", kPriority, "the queue's", "Of the application: higher goes first.",
     [](const YamlValue& value, YarnWishes& wishes) {
       MR_ASSIGN(wishes.priority, value.whole_number(0, kHighestPriority));
       return Status();
     }},
    {"tags", kList, "none", "By which the application is found.",
     [](const YamlValue& value, YarnWishes& wishes) { return put_list(value, wishes.tags); }},
};

template <class Wishes, size_t N>
Status put_checked(const YamlValue& value, const Key<Wishes> (&keys)[N], Wishes& wishes) {
  MR_TRY(read_keys<Wishes>(value, keys, wishes));
  const Status fits = check_wishes(wishes);
  return fits.ok() ? fits : value.refuse(fits.message());
}

// A key for each that says something.
class Section {
 public:
  template <class T>
  Section& add(const char* key, const T& value) {
    if (value != T{}) json_[key] = value;
    return *this;
  }
  Json json() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

}  // namespace

Status put_section(const YamlValue& value, KubernetesWishes& wishes) {
  return put_checked(value, kKubernetesKeys, wishes);
}

Status put_section(const YamlValue& value, SlurmWishes& wishes) {
  return put_checked(value, kSlurmKeys, wishes);
}

Status put_section(const YamlValue& value, YarnWishes& wishes) {
  return put_checked(value, kYarnKeys, wishes);
}

Json section_json(const KubernetesWishes& wishes) {
  std::vector<std::string> tolerations;
  for (const Toleration& toleration : wishes.tolerations)
    tolerations.push_back(to_text(toleration));
  return Section()
      .add("tolerations", tolerations)
      .add("priority", wishes.priority)
      .add("service_account", wishes.service_account)
      .add("pull_secrets", wishes.pull_secrets)
      .add("labels", wishes.labels)
      .add("annotations", wishes.annotations)
      .add("spread", wishes.spread)
      .add("apart", wishes.apart)
      .add("near", wishes.near)
      .add("scheduler", wishes.scheduler)
      .add("shm", wishes.shm)
      .json();
}

Json section_json(const SlurmWishes& wishes) {
  return Section()
      .add("account", wishes.account)
      .add("qos", wishes.qos)
      .add("reservation", wishes.reservation)
      .add("constraint", wishes.constraint)
      .add("exclusive", wishes.exclusive)
      .add("requeue", wishes.requeue)
      .add("runs", wishes.runs == 1 ? 0 : wishes.runs)
      .add("warn", wishes.warn.count() == 0 ? std::string() : duration_text_of(wishes.warn))
      .add("warn_signal", wishes.warn_signal)
      .json();
}

Json section_json(const YarnWishes& wishes) {
  Json json = Section().add("tags", wishes.tags).json();
  if (wishes.priority) json["priority"] = *wishes.priority;
  return json;
}

void add_section_schemas(Json& definitions) {
  definitions["kubernetes"] = schema_of<KubernetesWishes>(kKubernetesKeys);
  definitions["slurm"] = schema_of<SlurmWishes>(kSlurmKeys);
  definitions["yarn"] = schema_of<YarnWishes>(kYarnKeys);
}

std::string section_references() {
  return str_cat("## What is asked of Kubernetes alone\n\n",
                 reference_of<KubernetesWishes>(kKubernetesKeys),
                 "\n## What is asked of Slurm alone\n\n", reference_of<SlurmWishes>(kSlurmKeys),
                 "\n## What is asked of YARN alone\n\n", reference_of<YarnWishes>(kYarnKeys));
}

}  // namespace millrace::job_file

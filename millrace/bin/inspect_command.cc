// Part of verbs.h: `millrace inspect`.
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "millrace/bin/python_module.h"
#include "millrace/bin/verbs.h"

namespace millrace {
namespace {

constexpr const char* kInspectFooter =
    R"(PATH is a checkpoint (what its files begin with, one of its files, or a folder: then the newest in it),
a GraphDef or MetaGraph in binary or as text, the folder of a SavedModel, or a file of events. Nothing
is run or changed.

Examples:
  millrace inspect model/                              tensors of the newest checkpoint
  millrace inspect model/model.ckpt-100 --name w       the values of w
  millrace inspect model.ckpt-100 --compare model.ckpt-200 --tolerance 1e-6
  millrace inspect export/1700000000                   signatures, graphs and variables
  millrace inspect graph.pbtxt --nodes
  millrace inspect logs/events.out.tfevents.17 --name loss

Exit codes: 0 it was told, or the two do not differ; 1 they differ; 2 a file can't be read, has not
what was named, or the command line makes no sense.)";

struct InspectWords {
  std::string path;
  std::optional<std::string> other, tolerance;
  std::vector<std::string> names;
  bool lists_nodes = false;
};

int inspect(const InspectWords& asked) {
  std::vector<std::string> words;
  if (asked.other) words.push_back("--compare=" + *asked.other);
  if (asked.tolerance) words.push_back("--tolerance=" + *asked.tolerance);
  for (const std::string& name : asked.names) words.push_back("--name=" + name);
  if (asked.lists_nodes) words.push_back("--nodes");
  words.insert(words.end(), {"--", asked.path});
  return become_python("inspect", "millrace._inspect", words);
}

}  // namespace

void add_inspect(CLI::App& app, Invocation& invocation) {
  auto words = std::make_shared<InspectWords>();
  CLI::App* verb =
      app.add_subcommand("inspect", "List, print and compare checkpoints, graphs and event files");
  verb->footer(kInspectFooter);
  verb->add_option("PATH", words->path, "What to look at")->required();
  verb->add_option("--name", words->names, "A tensor, node or tag to print; may be given again")
      ->take_all()
      ->expected(1);
  verb->add_option("--compare", words->other, "Another of its kind: tell what differs");
  verb->add_option("--tolerance", words->tolerance, "How far numbers may differ (0)")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--nodes", words->lists_nodes, "List each node of a graph");
  verb->callback([words, &invocation] { invocation.run = [words] { return inspect(*words); }; });
}

}  // namespace millrace

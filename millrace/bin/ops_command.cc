// Part of verbs.h: `millrace ops`.
#include <algorithm>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include "millrace/bin/verbs.h"
#include "millrace/op/registry.h"
#include "millrace/ops/all.h"

namespace millrace {
namespace {

constexpr const char* kOpsFooter =
    R"(Tells what the ops are that graphs are made of. Of all of them, or those of rooms: the name, whether
gradients flow through it, and what it does. Of ops that are named: their inputs, outputs, attributes and
types too, why no gradient flows, and examples that the tests run.

Examples:
  millrace ops
  millrace ops --room math --room nn
  millrace ops MatMul Conv2D
  millrace ops --markdown > ops.md

Exit codes: 0 all is told, 2 there is no such op or room, or the command line makes no sense.)";

struct OpsFlags {
  std::vector<std::string> names;
  std::vector<std::string> rooms;
  bool markdown = false;
};

// An op, and the room of the library that it lives in.
struct Housed {
  const OpDef* op;
  std::string_view room;
};

struct Library {
  std::vector<std::unique_ptr<OpRegistry>> rooms;  // own the ops
  std::vector<Housed> ops;                         // by room, then by name
};

Result<Library> read_library() {
  Library library;
  for (const OpRoom& room : op_rooms()) {
    auto registry = std::make_unique<OpRegistry>();
    MR_TRY(room.add(*registry));
    for (const OpDef* op : registry->all()) library.ops.push_back({op, room.name});
    library.rooms.push_back(std::move(registry));
  }
  return library;
}

// What makes up loops and conditionals has no gradient by itself: autodiff takes them as a whole.
bool is_control_flow(const OpDef& op) {
  return op.role >= Role::switch_ && op.role <= Role::loop_cond;
}

std::string gradient_of(const OpDef& op) {
  if (op.grad != nullptr) return "yes";
  if (is_control_flow(op)) return "yes, with the loop or conditional that it is part of";
  return op.not_differentiable.empty() ? "not yet" : str_cat("no: ", op.not_differentiable);
}

std::string_view first_sentence(std::string_view doc) {
  const size_t end = doc.find(". ");
  return end == std::string_view::npos ? doc : doc.substr(0, end + 1);
}

void tell(const Housed& housed) {
  const OpDef& op = *housed.op;
  std::cout << op.name << " (" << housed.room << ")\n  " << op.doc << "\n\n"
            << "  signature  " << op.signature << "\n"
            << "  gradient   " << gradient_of(op) << "\n";
  if (op.stateful) std::cout << "  stateful   every run counts: it is never left out or merged\n";
  std::string_view title = "examples ";
  for (const std::string& example : op.examples) {
    std::cout << "  " << title << "  " << example << "\n";
    title = "         ";
  }
  std::cout << "\n";
}

void list(std::span<const Housed> ops) {
  size_t width = 0;
  for (const Housed& housed : ops) width = std::max(width, housed.op->name.size());
  for (const auto& [op, room] : ops)
    std::cout << op->name << std::string(width - op->name.size() + 2, ' ')
              << (op->grad != nullptr || is_control_flow(*op) ? "gradient  " : "-         ")
              << first_sentence(op->doc) << "\n";
}

// A cell of a table: a bar would end it.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

void print_page(std::span<const Housed> ops) {
  const auto flows = std::ranges::count_if(
      ops, [](auto& housed) { return housed.op->grad || is_control_flow(*housed.op); });
  std::cout << "# Ops\n\nWritten by `millrace ops --markdown`. " << ops.size() << " ops; through "
            << flows << " of them gradients flow, of the others the table says why not. "
            << "`millrace ops NAME` tells more of one.\n";
  std::string_view room;
  for (const Housed& housed : ops) {
    const OpDef& op = *housed.op;
    if (housed.room != room) {
      room = housed.room;
      std::cout << "\n## " << room << "\n\n| op | what it does | inputs, outputs, attributes | "
                << "gradient |\n| --- | --- | --- | --- |\n";
    }
    std::cout << "| " << op.name << " | " << cell(op.doc) << " | `` " << cell(op.signature)
              << " `` | " << cell(gradient_of(op)) << " |\n";
  }
}

Status unknown_op(const std::string& name, std::span<const Housed> ops) {
  OpRegistry all;
  MR_TRY(register_all_ops(all));
  std::string near;
  for (const std::string& known : all.suggestions(name))
    str_append(&near, near.empty() ? "; near it are " : ", ", known);
  return invalid("there is no op '", name, "' among the ", ops.size(), " that are asked about",
                 near);
}

Status tell_ops(const OpsFlags& flags) {
  MR_ASSIGN(Library library, read_library());
  std::vector<Housed>& ops = library.ops;
  for (const std::string& room : flags.rooms)
    if (std::ranges::find(op_rooms(), room, &OpRoom::name) == op_rooms().end())
      return invalid("there is no room '", room, "'; millrace ops --markdown names all of them");
  if (!flags.rooms.empty())
    std::erase_if(ops, [&](const Housed& housed) {
      return std::ranges::find(flags.rooms, housed.room) == flags.rooms.end();
    });
  if (flags.names.empty()) {
    flags.markdown ? print_page(ops) : list(ops);
    return {};
  }
  std::vector<Housed> named;
  for (const std::string& name : flags.names) {
    const auto found = std::ranges::find(ops, name, [](auto& housed) { return housed.op->name; });
    if (found == ops.end()) return unknown_op(name, ops);
    named.push_back(*found);
  }
  if (flags.markdown) {
    print_page(named);
  } else {
    std::ranges::for_each(named, tell);
  }
  return {};
}

}  // namespace

void add_ops(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<OpsFlags>();
  CLI::App* verb = app.add_subcommand("ops", "Tell what ops there are and what they do");
  verb->footer(kOpsFooter);
  verb->add_option("NAME", flags->names, "Ops to tell all about");
  verb->add_option("--room", flags->rooms, "Only ops of this room, as math; may be repeated")
      ->type_name("ROOM")
      ->allow_extra_args(false);
  verb->add_flag("--markdown", flags->markdown, "As a page of tables");
  verb->callback([flags, &invocation] {
    invocation.run = [flags] {
      const Status told = tell_ops(*flags);
      return told.ok() ? kDone : complain("ops", told);
    };
  });
}

}  // namespace millrace

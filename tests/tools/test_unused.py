"""tools/floors on small trees: public functions and types that only tests use."""

import pytest


def includes(*paths):
    return "".join(f'#include "millrace/{path}"\n' for path in paths)


BOOK = """\
class Book {
 public:
  explicit Book(int size);
  int size() const { return size_; }
  template <typename T>
  Result<std::vector<T>> pages(std::function<bool(int)> wanted = nullptr) const MR_REQUIRES(mutex_);
  void close();
 private:
  void hidden();
  int size_ MR_GUARDED_BY(mutex_) = 0;
};
Status read_book(const Book& book);
"""


def users(calls):
    return {
        "millrace/base/book.h": BOOK,
        "millrace/base/book.cc": includes("base/book.h")
        + "Book::Book(int size) { hidden(); }\nvoid Book::hidden() {}\nvoid Book::close() {}\n"
        + "Status read_book(const Book& book) {\n  return {};\n}\n",
        "millrace/op/user.cc": includes("base/book.h") + calls,
        "millrace/op/book_test.cc": includes("base/book.h")
        + "void f(Book& b) { b.size(); b.pages<int>(); b.close(); read_book(b); }\n",
    }


def test_functions_that_more_than_tests_call_are_fine(faults):
    calls = "void f(Book& b) {\n  b.size();\n  b.pages<int>();\n  b.close();\n  read_book(b);\n}\n"
    assert faults("unused", users(calls)) == []


@pytest.mark.parametrize(
    ("left_out", "line", "name"),
    [("b.size()", 4, "size()"), ("b.pages<int>()", 5, "pages()"), ("b.close()", 7, "close()")]
    + [("read_book(b)", 12, "read_book()")],
)
def test_a_function_that_only_tests_call_is_named(faults, left_out, line, name):
    calls = "void f(Book& b) {\n  b.size();\n  b.pages<int>();\n  b.close();\n  read_book(b);\n}\n"
    found = faults("unused", users(calls.replace(left_out, f'/* {left_out} */ "{left_out}"')))
    assert len(found) == 1
    assert found[0].startswith(f"millrace/base/book.h:{line}: nothing but tests uses {name}: ")


def test_a_call_in_a_file_that_does_not_see_the_header_is_another_function(faults):
    files = users("void f(Book& b) { b.size(); b.pages<int>(); read_book(b); }\n")
    files["millrace/op/other.cc"] = "void g(Other& o) { o.close(); }\n"
    assert [line.split(" uses ")[1].split(":")[0] for line in faults("unused", files)] == [
        "close()"
    ]


def test_a_type_that_only_tests_name_is_named(faults):
    files = {
        "millrace/base/chain.h": "class Chain : public Link {\n public:\n  int f() override;\n};\n",
        "millrace/base/chain.cc": includes("base/chain.h") + "int Chain::f() { return 1; }\n",
        "millrace/base/user.cc": includes("base/chain.h"),
        "millrace/base/chain_test.cc": includes("base/chain.h") + "Chain chain;\n",
    }
    found = faults("unused", files)
    assert len(found) == 1
    assert found[0].startswith("millrace/base/chain.h:1: nothing but tests uses Chain: ")


def test_what_is_allowed_though_it_is_used_or_gone_is_named(faults):
    found = faults("unused", {"tools/guards/unused.py": ""})
    allowed = "ALLOWED has text.h:parse_graph, which is gone or used by more than tests"
    assert f"tools/guards/unused.py:1: {allowed}" in found

"""Go: cases worked by hand, formatted, unformatted and broken."""

from course_lib.loader.code import split_code

SOURCE = """// Copyright.

//go:build linux

// Package p does.
package p

import (
\t"fmt"
)

/*
#include <x.h>
*/
import "C"

// Limits of it.
const (
\t// A is one.
\tA = iota
\tB
)

var text = `
func no() {
}
type No struct{}
`

// T holds.
//
// And more.
type T struct {
\ta int
}

/* Get gets,
   func no() {
*/
func (t *T) Get(f func(a int) string) (int, error) {
\tvar x = '{'
\ttype local struct{}
\treturn t.a, nil
}

func Map[K any](m map[K]int) []K { return nil }
func (List[T]) Len() int { return 0 }

type (
\tOne int
\tTwo string
)
"""


def test_each_declaration_is_a_piece_with_its_comments() -> None:
    spans = split_code(SOURCE, "go")
    assert [(s.kind, s.name, s.class_name) for s in spans] == [
        ("module", "p", None),
        ("block", "A", None),
        ("block", "text", None),
        ("type", "T", None),
        ("method", "Get", "T"),
        ("function", "Map", None),
        ("method", "Len", "List"),
        ("type", "One", None),
    ]
    texts = [s.text for s in spans]
    assert texts[0].startswith("// Copyright.") and texts[0].endswith('import "C"')
    assert texts[1].startswith("// Limits of it.\nconst (") and texts[1].endswith(")")
    assert texts[2].startswith("var text = `") and texts[2].endswith("`")
    assert texts[3].startswith("// T holds.\n//\n// And more.\ntype T")
    assert texts[4].startswith("/* Get gets,") and texts[4].endswith("nil\n}")
    assert all(s.header == "" for s in spans)


def test_parts_of_a_function_are_under_its_signature() -> None:
    text = (
        "package p\n\nfunc (s *Server) Run(\n\tctx context.Context,\n) error {\n"
        + "\ts.step(ctx)\n" * 40
        + "}\n"
    )
    spans = split_code(text, "go", 200, 30)
    assert spans[1].header == ""
    assert {s.header for s in spans[2:]} == {
        "func (s *Server) Run(\n\tctx context.Context,\n) error {\n"
    }
    assert {(s.kind, s.name, s.class_name) for s in spans[1:]} == {("method", "Run", "Server")}


def test_parts_of_types_and_blocks_are_under_their_first_line() -> None:
    for first, last in (
        ("type T struct {", "}"),
        ("const (", ")"),
        ("var m = map[string]int{", "}"),
    ):
        text = f"{first}\n" + "\tname int\n" * 40 + f"{last}\n"
        spans = split_code(text, "go", 100, 0)
        assert {s.header for s in spans[1:]} == {first + "\n"}


def test_unformatted_code_is_split_by_its_braces() -> None:
    text = "package p\n  func a() {\nvar x = 1\ntype y int\n  }\n  var z = 1\nfunc b() {\n}\n"
    assert [(s.kind, s.name) for s in split_code(text, "go")] == [
        ("module", "p"),
        ("function", "a"),
        ("block", "z"),
        ("function", "b"),
    ]


def test_quotes_and_comments_in_lines_hide_nothing() -> None:
    text = 'func a() {\n\tx := \'`\' // it\'s `\n\ty := "/* {" + "\\"`"\n}\n\nfunc b() {\n}\n'
    assert [s.name for s in split_code(text, "go")] == ["a", "b"]

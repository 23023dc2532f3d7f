"""Python, Go and shell that trip a code splitter up; see `nasty.py`."""

from __future__ import annotations

from tests.blackbox.nasty import nasty

BODY = "        total = total + weight * value  # a line of the body\n"


@nasty("code/decorators.py")
def decorators() -> str:
    """Decorators over several lines, comments above, stacked on an async function."""
    return (
        '"""Module."""\n\nimport os\n\n\n# Above the decorator.\n@first\n@second(\n'
        '    "a", key=[1, 2],\n)\n'
        "async def decorated(\n    a: int,\n    b: str = ')',\n) -> None:\n    await a\n\n\n"
        "@property\nclass Odd(Base, metaclass=Meta): pass\n"
    )


@nasty("code/nested.py")
def nested() -> str:
    """Functions in functions, classes in classes, larger than a piece."""
    methods = "".join(
        f"    def method_{n}(self, value):\n        total = 0\n\n        def inner(x):\n"
        f"            return x\n\n{BODY * 4}        return inner(total)\n\n"
        for n in range(4)
    )
    return (
        f"class Outer(A, B):\n    '''Doc.'''\n\n    class Inner:\n        x = 1\n\n"
        f"{methods}\nlast = 1\n"
    )


@nasty("code/long.py")
def long_function() -> str:
    """A function longer than a piece: its parts overlap and carry its signature."""
    blocks = "".join(f"    step_{n} = compute({n})\n    check(step_{n})\n\n" for n in range(40))
    return f"def long(a, b):\n    '''Long.'''\n{blocks}    return a\n"


@nasty("code/strings.py")
def strings() -> str:
    """Strings that hold definitions at the beginning of a line."""
    return (
        'TEMPLATE = """\ndef not_a_function():\n    pass\n\nclass NotAClass:\n    pass\n"""\n\n\n'
        "def real():\n    return '''\ndef nor_this(): pass\n'''\n\n\nX = f'''{\"def x\"}\n"
        "def y(): pass\n'''\n"
        "RAW = r'\\'  'def z(): pass'\n# def commented(): pass\n"
    )


@nasty("code/syntax-error.py")
def syntax_error() -> str:
    """A text that Python refuses: it is split nevertheless."""
    return (
        "def good():\n    return 1\n\n\ndef bad(:\n    retrun '\n\n\nclass Also(:\n  x = (\n\n"
        "def after(): 1\n"
    )


@nasty("code/class-only.py")
def class_only() -> str:
    """Nothing but one small class."""
    return "class Only:\n    field: int = 1\n"


@nasty("code/no-definitions.py")
def no_definitions() -> str:
    """Statements alone, longer than a piece."""
    return "".join(f"value_{number} = {number}  # constant\n" for number in range(60))


@nasty("code/crlf.py")
def crlf() -> str:
    """Windows line ends in code, with a form feed between definitions."""
    return "import os\r\n\r\n\r\ndef one():\r\n    pass\r\n\f\r\n\r\ndef two():\r\n    pass\r\n"


@nasty("code/tabs.py")
def tabs() -> str:
    """Tabs, semicolons, a line continuation and one-line bodies."""
    return (
        "class A:\n\tdef f(self): return 1; x = 2\n\tdef g(self): \\\n\t\treturn 2\nif 1: \n"
        "\tdef h(): 1\n"
    )


@nasty("code/unicode.py")
def unicode() -> str:
    """Names beyond ASCII; offsets count code points."""
    return (
        "# 🎈\nclass Größe:\n    def größer(self):\n        return 'e\u0301'\n\n\n"
        "def 数(): return '👩\u200d👧'\n"
    )


@nasty("code/overloads.pyi")
def overloads() -> str:
    """A stub: the same name several times."""
    return (
        "@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\n"
        "def f(a): ...\n"
    )


@nasty("code/empty.py")
def empty() -> str:
    """Nothing."""
    return ""


@nasty("code/long-line.py")
def long_line() -> str:
    """A line of 2,000 characters in a function."""
    return "def data():\n    return [" + "1234567, " * 220 + "]\n"


@nasty("code/methods.go")
def go_methods() -> str:
    """Methods on pointers and values, generics, embedded types, functions as types."""
    return (
        '// Package a is one.\npackage a\n\nimport (\n\t"fmt"\n)\n\n// Box holds.\n'
        "type Box[T any, K comparable] struct {\n\titems map[K]T\n\tfmt.Stringer\n}\n\n"
        "func (b *Box[T, K]) Get(k K) (T, bool) {\n\tv, ok := b.items[k]\n\treturn v, ok\n}\n\n"
        "func (Box[T, _]) Value() {}\n\n// Map maps.\n"
        "func Map[T, U any](in []T, f func(T) U) []U {\n"
        "\treturn nil\n}\n\ntype F func(a int) (b int)\ntype I interface{ Do(); ~int | ~string }\n"
        "type (\n\tA = int\n\tB struct{ x int }\n)\n"
    )


@nasty("code/raw.go")
def go_raw() -> str:
    """Raw strings, runes and comments that hold braces and definitions."""
    return (
        "package a\n\nconst help = `\nfunc notAFunction() {\n}\ntype Fake struct {\n`\n\n"
        'func brace() rune {\n\t// }\n\t/* func x() { */\n\ts := "}\\""\n\t_ = s\n'
        "\treturn '}'\n}\n"
    )


@nasty("code/consts.go")
def go_consts() -> str:
    """Groups of constants and variables, iota, no package clause."""
    values = "".join(f"\tValue{n} // the {n}th value of the group\n" for n in range(30))
    return f"const (\n\tFirst = iota\n{values})\n\nvar (\n\ta, b = 1, 2\n)\n\nvar c int\n"


@nasty("code/broken.go")
def go_broken() -> str:
    """Braces that are never closed, and tabs with CRLF."""
    return "package a\r\n\r\nfunc open() {\r\n\tif true {\r\n}\r\n\r\nfunc after() {\r\n}\r\n"


@nasty("code/long.go")
def go_long() -> str:
    """A method longer than a piece."""
    lines = "".join(
        f"\tif err := step{n}(ctx); err != nil {{\n\t\treturn err\n\t}}\n" for n in range(30)
    )
    return (
        f"package a\n\nfunc (r *Reconciler) Run(ctx context.Context) error {{\n"
        f"{lines}\treturn nil\n}}\n"
    )


@nasty("code/heredocs.sh")
def shell_heredocs() -> str:
    """Heredocs that hold functions, one with quotes, one with tabs, two on a line."""
    return (
        "#!/usr/bin/env bash\nset -e\n\ncat <<EOF\nfake() {\n}\nEOF\n\ncat <<'END' > \"$f\"\n"
        "function no {\nEND\n\n"
        "write() {\n  cat <<-TAB\n\t}\n\tTAB\n  cat <<A; cat <<B\n}\nA\n}\nB\n}\n\nafter() { :; }\n"
    )


@nasty("code/styles.sh")
def shell_styles() -> str:
    """Functions of both styles, on one line, in a subshell, with odd names, and a case."""
    return (
        "one() {\n  echo 1\n}\nfunction two {\n  echo 2\n}\nfunction three() { echo 3; }\n"
        "four() (\n  cd /\n)\n"
        'five ()\n{\n  case $1 in\n    a) echo } ;;\n  esac\n}\nns::six-6() { echo "}"; }\n'
        '# }\nX="$(one)"\nmain "$@"\n'
    )


@nasty("code/quotes.bash")
def shell_quotes() -> str:
    """Quotes over several lines that hold functions, and a quote never closed."""
    return (
        "A='\nfake() {\n}\n'\nB=\"$(cat <<E\nx() {\nE\n)\"\nreal() {\n  echo \\' # it's\n}\n"
        "echo 'open\nlast() {\n}\n"
    )


@nasty("code/long.sh")
def shell_long() -> str:
    """A function longer than a piece, with blank lines."""
    lines = "".join(f'  echo "step {n} of many"\n{chr(10) * (n % 4 == 0)}' for n in range(50))
    return f"deploy() {{\n{lines}}}\n"


@nasty("code/script")
def shebang() -> str:
    """No extension: the first line says that it is Python. `course load` does not look at it."""
    return "#!/usr/bin/env -S python3 -u\nimport os\n\n\ndef main():\n    pass\n"


@nasty("code/Makefile")
def makefile() -> str:
    """Of no registered format: raw text for `course split`."""
    return "# Not a heading\nall: build\n\techo $(X)\n" + "target: dep\n\tdo it\n\n" * 60


@nasty("code/settings.toml")
def toml() -> str:
    """What a parser of an operator's own takes."""
    return (
        'title = "x"\n\n[server]\nport = 1\ntext = """\n[no table]\n"""\n\n[[items]]\nname = "a"\n'
    )


@nasty("code/binary.py")
def binary() -> bytes:
    """An image that bears the name of a program."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@nasty("code/comments.py")
def comments() -> str:
    """Comments alone, more than a piece; no statement."""
    return "".join(f"# line {number} of nothing but comments\n" for number in range(30))


@nasty("code/inner.py")
def inner() -> str:
    """A long function made of decorated inner functions and a class."""
    parts = "".join(
        f"    @wraps(f{n})\n    @other\n    def inner_{n}(a):\n        '''\n    no end here\n"
        f"        '''\n        return a + {n}\n\n"
        for n in range(8)
    )
    return f"def outer(f):\n{parts}    class Local(Base):\n        x = 1\n    return Local\n"


@nasty("code/long-class.py")
def long_class() -> str:
    """A class of fields alone, and a block with a body, both larger than a piece."""
    fields = "".join(f"    field_{n}: int = {n}  # the {n}th\n" for n in range(40))
    block = "".join(f"    print('step {n} of the block')\n" for n in range(40))
    return f"class Fields(Base[int], metaclass=M):\n{fields}\n\nif __name__ == '__main__':\n{block}"


@nasty("code/long-signature.py")
def long_signature() -> str:
    """A signature that is longer than a piece, and a name that is."""
    arguments = "".join(f"    argument_{n}: dict[str, int] = {{}},\n" for n in range(30))
    return f"def wide(\n{arguments}) -> None:\n    pass\n\n\ndef {'n' * 600}(): pass\n"


@nasty("code/long-comment.py")
def long_comment() -> str:
    """A comment above a definition that makes it too large, and is a piece of its own."""
    comment = "".join(f"# {number}: why this is as it is\n" for number in range(20))
    return f"{comment}def small():\n    return 1\n"


@nasty("code/not-go.go")
def not_go() -> str:
    """Text before the package clause that is no Go."""
    return "Dear reader,\nthis is no Go.\npackage a\n\nfunc f() {}\n"


@nasty("code/text.go")
def go_text() -> str:
    """No declaration at all."""
    return "Nothing in here is Go.\n" * 3


@nasty("code/long-types.go")
def go_long_types() -> str:
    """A struct and a type on one line that are longer than a piece."""
    fields = "".join(f'\tField{n} string `json:"field{n}"`\n' for n in range(30))
    return f'package a\n\ntype Long struct {{\n{fields}}}\n\nvar x = "{"y" * 700}"\n'


@nasty("code/comments.sh")
def shell_comments() -> str:
    """Comments and a shebang alone."""
    return "#!/bin/sh\n# nothing\n\n# to do\n"


@nasty("code/open.sh")
def shell_open() -> str:
    """A function and a heredoc that are never closed."""
    return "open() {\n  echo 1\n\nother() {\n  cat <<END\n}\nlast() { :; }\n"


@nasty("code/branches.sh")
def shell_branches() -> str:
    """Branches, loops and pipes over several lines, which are no places to cut."""
    return (
        "if true; then\n\n  a() {\n    :\n  }\n\nelif b; then\n  c\nelse\n\n  d\nfi\n\n"
        "for x in 1 2; do\n\n  echo $x\n\ndone | sort |\n\n  uniq\n\nX=1 \\\n  Y=2\n\n"
        "while read -r l\ndo\n"
        '  echo "a\n\nb" <<E\n$(cat)\nE\ndone < f\n'
    )

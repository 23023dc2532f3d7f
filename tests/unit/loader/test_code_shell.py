"""Shell: cases worked by hand, heredocs and quotes over several lines above all."""

import shutil
import subprocess

import pytest

from course_lib.loader.code import split_code

SOURCE = """#!/usr/bin/env bash
# Deploys it.

set -euo pipefail
NAME=x

# Say it.
log() {
  echo "$*" >&2

  echo '}'
}
function build {
  cat <<-EOF
	a

	}
	EOF
  sed 's/#{/}/' <<< "$x"
}

one() { echo 1; }
two () (
  cd x
)

for f in *; do
  log "$f"

  build
done

cat > file <<'END' && echo "it's"
no() {

  $x
}
END

awk '
BEGIN { x = 1 }

function no() {
}
'

export PATH="$(cat <<EOF
a "quoted" b

it's
EOF
)"

main "$@"  # it's the end
"""


def test_functions_and_blocks_are_pieces_with_their_comments() -> None:
    spans = split_code(SOURCE, "shell")
    assert [(s.kind, s.name) for s in spans] == [
        ("block", "set -euo pipefail"),
        ("function", "log"),
        ("function", "build"),
        ("function", "one"),
        ("function", "two"),
        ("block", "for f in *; do"),
        ("block", "cat > file <<'END' && echo \"it's\""),
        ("block", "awk '"),
        ("block", "PATH"),
        ("block", 'main "$@"  # it\'s the end'),
    ]
    texts = [s.text for s in spans]
    assert texts[0].startswith("#!/usr/bin/env bash\n# Deploys it.")
    assert texts[1].startswith("# Say it.\nlog() {") and texts[1].endswith("'}'\n}")
    assert texts[2].endswith('"$x"\n}')
    assert texts[5].endswith("done")
    assert texts[6].endswith("\nEND")
    assert texts[8].endswith('EOF\n)"')


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash reads the pieces")
def test_bash_accepts_every_piece_of_a_script() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    for span in split_code(SOURCE, "shell"):
        answer = subprocess.run(
            [bash, "-n"], input=span.text + "\n", text=True, capture_output=True, check=False
        )
        assert (answer.returncode, answer.stderr) == (0, "")


def test_heredocs_in_a_large_function_are_not_cut_where_they_fit() -> None:
    document = "  cat <<EOF\nfirst\n\nsecond\n\nthird {0}\nEOF\n"
    text = (
        "f() {\n"
        + "".join(document.format(i) + "  echo some more words\n" for i in range(8))
        + "}\n"
    )
    spans = split_code(text, "shell", 120, 10)
    assert len(spans) > 4
    for i in range(8):
        assert any(document.format(i).rstrip() in span.text for span in spans)
    assert {s.header for s in spans[1:]} == {"f() {\n"}
    assert {(s.kind, s.name) for s in spans} == {("function", "f")}


def test_parts_of_a_heredoc_are_under_its_command() -> None:
    text = "cat > config.ini <<EOF\n" + "key = value\n" * 30 + "EOF\n"
    spans = split_code(text, "shell", 100, 0)
    assert {s.header for s in spans[1:]} == {"cat > config.ini <<EOF\n"}


def test_a_shift_is_no_heredoc() -> None:
    text = "x=$((a<<b))\n\ny=$(( 1 << 2 ))\n\ncat <<< word\n\nz=1\n"
    assert [s.name for s in split_code(text, "shell")] == ["x", "y", "cat <<< word", "z"]


def test_functions_that_are_never_closed_end_at_the_next() -> None:
    text = "a() {\n  if x; then\n\nb() {\n  echo\n}\necho 'never closed\n\nc() {\n  echo\n}\n"
    spans = split_code(text, "shell")
    assert [s.name for s in spans if s.kind == "function"] == ["a", "b", "c"]

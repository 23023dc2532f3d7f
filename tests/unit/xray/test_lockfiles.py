"""Lock files of every format: what is a package, what is the project's own, what is broken."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.xray import LockFiles, find_lock_files
from course_lib.xray.lock_go import parse_go_sum
from course_lib.xray.lockfiles import (
    FORMATS,
    NOT_READ,
    UV,
    lock_format,
    parse_package_lock,
    parse_requirements,
)
from course_lib.xray.packages import LANGUAGES

DATA = project_root() / "data" / "lockfiles"


def read(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def test_requirements_give_names_and_pins_and_nothing_else() -> None:
    text = """\
# A comment
--index-url https://packages.example.com/simple
-r other.txt
-e .
-c constraints.txt
./local/wheel.whl
https://example.com/thing.zip
git+https://example.com/repo.git
-e git+https://example.org/a/thing.git@v1#egg=My_Thing
git+ssh://git@example.org/a/b.git#subdirectory=x&egg=other  # a comment
archives/made-1.0.tar.gz ; python_version > "3.8"
Flask_SQLAlchemy[async]==3.1.1 ; python_version >= "3.9"  # via app
requests >= 2.31, < 3
pinned-by-prefix==1.*
two==1.0,!=1.1
odd===2024-01-alpha
from-the-shell==${VERSION}
partly[all] >= 1.${MINOR} , < 2 ; python_version >= "3.9"
${PWD}/wheels/made-1.0-py3-none-any.whl
vendored/tools
vendored/more-tools/[all] ; python_version >= "3.9"
direct @ https://example.com/direct-1.0.zip#sha256=00
multi==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
crlf==2.0 \\\r
    --hash=sha256:cc\r
# a comment goes on nowhere \\
after-a-comment==1.0
"""
    assert parse_requirements(text) == {
        "my-thing": "",
        "other": "",
        "flask-sqlalchemy": "3.1.1",
        "requests": "",
        "pinned-by-prefix": "",
        "two": "1.0",
        "odd": "2024-01-alpha",
        "from-the-shell": "",
        "partly": "",
        "direct": "",
        "multi": "1.0",
        "crlf": "2.0",
        "after-a-comment": "1.0",
    }


def test_what_uv_has_from_folders_is_no_package_of_a_registry() -> None:
    """The other formats' own packages are in data/lockfiles, which tests/blackbox scans."""
    uv = """
version = 1

[[package]]
name = "root"
source = { virtual = "." }

[[package]]
name = "neighbour"
version = "0.1"
source = { directory = "../neighbour" }

[[package]]
name = "forked"
version = "2.0"
source = { git = "https://git.example.com/forked" }
"""
    assert UV.parse(uv) == {"forked": "2.0"}


def test_go_sum_counts_where_go_mod_does_not_name_everything() -> None:
    sums = (
        "example.com/one v1.0.0 h1:00=\n"
        "example.com/one v1.0.0/go.mod h1:00=\n"
        "example.com/old v0.1.0/go.mod h1:00=\n"
        "example.com/two v1.9.0 h1:00=\nexample.com/two v1.10.0 h1:00=\n"
    )
    assert parse_go_sum(sums) == {"example.com/one": "v1.0.0", "example.com/two": "v1.10.0"}
    mod = "module example.com/app\n\ngo {}\n\nrequire example.com/one v1.0.0\n"
    new = LockFiles({"a/go.mod": mod.format("1.24.0"), "a/go.sum": sums})
    old = LockFiles({"a/go.mod": mod.format("1.16"), "a/go.sum": sums})
    alone = LockFiles({"a/go.mod": mod.format("1.24.0"), "b/go.sum": sums})
    assert new.packages("go") == {"example.com/one": "v1.0.0"}
    assert old.packages("go") == alone.packages("go") == parse_go_sum(sums)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "this is not a requirement\n"),
        ("requirements.txt", "a==1 \\\n --hash=sha256:0\nb==2 \\\n"),
        ("requirements.txt", "${NAME}==1\n"),
        ("requirements.txt", "vendored/tools==1\n"),
        ("uv.lock", "[[package]]\nversion = '1'\n"),
        ("uv.lock", "version = 1\npackage = 3\n"),
        ("uv.lock", "version = 2\n"),
        ("poetry.lock", "[[package]]\nname = 'a'\nversion = 1\n[metadata]\n"),
        ("poetry.lock", "[metadata]\nlock-version = '3.0'\n"),
        ("pylock.toml", "lock-version = '1.0'\ncreated-by = 'x'\npackages = ['a']\n"),
        ("pylock.toml", "lock-version = '2.0'\ncreated-by = 'x'\npackages = []\n"),
        ("pylock.toml", "lock-version = '1.0'\ncreated-by = 'x'\n"),
        ("Cargo.lock", "version = 5\n[[package]]\nname = 'a'\nversion = '1'\n"),
        ("package-lock.json", '{"lockfileVersion": 4, "packages": {}}'),
        ("package-lock.json", '{"name": "a"}'),
        ("package-lock.json", '{"lockfileVersion": 3, "packages": {"node_modules/a": 3}}'),
        ("package-lock.json", "[" * 100_000),
        (
            "package-lock.json",
            '{"lockfileVersion": 3, "packages": {"": {"devDependencies": {"a": "^1"}}}}',
        ),
        ("npm-shrinkwrap.json", '{"lockfileVersion": 1, "dependencies": {}}'),
        (
            "pnpm-lock.yaml",
            "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n"
            "      a: {specifier: ^1, version: 1.0.0}\n",
        ),
        ("bun.lock", '{"lockfileVersion": 1, "workspaces": {"": {"dependencies": {"a": "1"}}}}'),
        ("Gemfile.lock", "source 'https://example.com'\n"),
        ("Gemfile.lock", "GEM\n  specs:\n<<<<<<< HEAD\n    a (1.0)\n"),
        ("Gemfile.lock", "GEM\n  specs:\n\ta (1.0)\n\nDEPENDENCIES\n  a\n"),
        ("gems.locked", "GEM\n  specs:\n    a (1.0)\n"),
        ("go.mod", "require example.com/one v1.0.0\n"),
        ("go.mod", "module a\nrequire(\n\texample.com/one v1.0.0\n"),
        ("go.mod", "module a\nrequire (example.com/one v1.0.0)\n"),
        ("go.mod", "module a\nreqire (\n\texample.com/one v1.0.0\n)\n"),
        ("go.mod", "module a\n<<<<<<< HEAD\nrequire example.com/one v1.0.0\n>>>>>>> b\n"),
        ("go.mod", "module a\nreplace example.com/one v1.0.0\n"),
        ("go.mod", "module a\nrequire example.com/one\n"),
        ("go.mod", "module a\nrequire (\n\texample.com/one v1.0.0\n"),
        ("go.sum", "example.com/one v1.0.0\n"),
        ("go.sum", "example.com/one v1.0.0 h1:00"),
    ],
)
def test_a_broken_lock_file_is_named_with_what_is_wrong(name: str, text: str) -> None:
    files = LockFiles({f"service/{name}": text, "other/README.md": "Hello."})
    (language,) = files.languages()
    with pytest.raises(InputError, match=re.escape(f"service/{name} is not a {name}")):
        files.packages(language)


@pytest.mark.parametrize(
    "name",
    [
        "forecasting/jobs/poetry.lock",
        "rider-app/web/package-lock.json",
        "rider-app/admin/Gemfile.lock",
    ],
)
def test_the_beginning_of_a_lock_file_is_refused_and_never_taken_for_a_shorter_one(
    name: str,
) -> None:
    text = read(name)
    parse = lock_format(name).parse  # type: ignore[union-attr]
    everything = parse(text)
    for end in range(0, len(text), len(text) // 100):
        with contextlib.suppress(ValueError):
            assert parse(text[:end]) == everything, end


@pytest.mark.parametrize("name", ["forecasting/uv.lock", "forecasting/engine/Cargo.lock"])
def test_packages_without_one_that_they_depend_on_are_no_lock_file(name: str) -> None:
    text = read(name)
    at = text.rindex("[[package]]")
    with pytest.raises(ValueError, match="is it complete"):
        lock_format(name).parse(text[:at])  # type: ignore[union-attr]


def test_every_format_is_found_by_name_and_nothing_else_is() -> None:
    assert {one.language for one in FORMATS} == set(LANGUAGES)
    for path in (
        "requirements.txt a/requirements-dev.txt requirements/base.txt pylock.toml pylock.dev.toml "
        "dev-requirements.txt test_requirements.txt "
        "uv.lock poetry.lock a/b/package-lock.json npm-shrinkwrap.json Gemfile.lock gems.locked "
        "go.mod go.sum Cargo.lock"
    ).split():
        assert lock_format(path) is not None, path
    for path in (
        "requirements.in",
        "base.txt",
        "uv.lock.bak",
        "Cargo.toml",
        "go.mod/x",
        "my-uv.lock",
    ):
        assert lock_format(path) is None, path


# What others write


PNPM_9 = """lockfileVersion: '9.0'

catalogs:
  default:
    react: {specifier: ^18.2.0, version: 18.2.0}

importers:
  .:
    dependencies:
      react: {specifier: 'catalog:', version: 18.2.0}
      ours: {specifier: 'workspace:*', version: link:packages/ours}
  packages/ours: {}

packages:
  '@babel/core@7.24.0':
    resolution: {integrity: sha512-a}
  react-dom@18.2.0:
    resolution: {integrity: sha512-b}
    peerDependencies: {react: ^18.2.0}
  react@18.2.0:
    resolution: {integrity: sha512-c}
  local@file:../local:
    resolution: {directory: ../local, type: directory}
  is-odd@https://codeload.example.org/a/is-odd/tar.gz/0123:
    resolution: {tarball: 'https://codeload.example.org/a/is-odd/tar.gz/0123'}
    version: 3.0.1

snapshots:
  react-dom@18.2.0(react@18.2.0):
    dependencies: {react: 18.2.0}
"""
PNPM_6 = """lockfileVersion: '6.0'

dependencies:
  react-dom: {specifier: ^18, version: 18.2.0(react@18.2.0)}

packages:
  /@babel/core@7.22.0:
    resolution: {integrity: sha512-a}
  /react-dom@18.2.0(react@18.2.0):
    resolution: {integrity: sha512-b}
    dependencies:
      react: 18.2.0
  /react@18.2.0:
    resolution: {integrity: sha512-c}
  /react@17.0.2:
    resolution: {integrity: sha512-d}
  file:local:
    resolution: {directory: local, type: directory}
    name: local
  github.com/a/is-odd/0123:
    resolution: {tarball: 'https://codeload.example.org/a/is-odd/tar.gz/0123'}
    name: is-odd
    version: 3.0.1
"""
REACT = {"@babel/core": "7.24.0", "react-dom": "18.2.0", "react": "18.2.0", "is-odd": "3.0.1"}
YARN_1 = """# THIS IS AN AUTOGENERATED FILE. DO NOT EDIT THIS FILE DIRECTLY.
# yarn lockfile v1


"@babel/core@^7.0.0", "@babel/core@^7.1.0":
  version "7.24.0"
  resolved "https://registry.example.org/@babel/core/-/core-7.24.0.tgz#0"
  dependencies:
    react "^18"

local@file:./local:
  version "0.0.0"

"mine@npm:react-dom@^18":
  version "18.2.0"

react@^17:
  version "17.0.2"

"ranged@>=1.0, <2", ranged@^1.5:
  "version" "1.9.0"
  "dependencies":
    "react" "^18"

unranged:
  version: 0.1.0

react@^18:
  version "18.2.0"

"thing@git+https://example.org/a/thing.git":
  version "1.0.0"
  resolved "git+https://example.org/a/thing.git#0123"
"""
YARN_BERRY = """# This file is generated by running "yarn install" inside your project.

__metadata:
  version: 8
  cacheKey: 10c0

"@babel/core@npm:^7.0.0, @babel/core@npm:^7.1.0":
  version: 7.24.0
  resolution: "@babel/core@npm:7.24.0"
  languageName: node
  linkType: hard

"mine@npm:react-dom@^18":
  version: 18.2.0
  resolution: "react-dom@npm:18.2.0"
  linkType: hard

"ours@workspace:.":
  version: 0.0.0-use.local
  resolution: "ours@workspace:."
  languageName: unknown
  linkType: soft

"react@patch:react@npm%3A18.2.0#~/.yarn/patches/react.patch":
  version: 18.2.0
  resolution: "react@patch:react@npm%3A18.2.0#~/.yarn/patches/react.patch::version=18.2.0"
  linkType: hard
"""
BUN = """{
  "lockfileVersion": 1,
  "workspaces": {
    "": { "name": "ours", "dependencies": { "react": "^18", }, },
  },
  "packages": {
    "@babel/core": ["@babel/core@7.24.0", "", { "note": "a,}" }, "sha512-a"],
    "is-odd": ["is-odd@github:a/is-odd#0123", {}, "a-is-odd-0123"],
    "ours-web": ["ours-web@workspace:packages/web"],
    "react": ["react@18.2.0", "", {}, "sha512-c"],
    "react-dom/react": ["react@17.0.2", "", {}, "sha512-d"],
  },
}
"""
PIPFILE = """{
  "_meta": {"hash": {"sha256": "0"}, "pipfile-spec": 6, "requires": {}, "sources": []},
  "default": {
    "Flask_Login": {"hashes": ["sha256:0"], "index": "pypi", "version": "==0.6.3"},
    "any": {"version": "*"},
    "ours": {"editable": true, "path": "."},
    "thing": {"git": "https://example.org/a/thing.git", "ref": "0123"}
  },
  "develop": {"pytest": {"version": "==8.2.0"}}
}
"""
PDM = """[metadata]
groups = ["default"]
lock_version = "4.5.0"

[[package]]
name = "Flask-Login"
version = "0.6.3"
dependencies = [
    "flask>=1.0.4",
    "exceptiongroup>=1; python_version < '3.11'",
    "colorama; sys_platform == 'win32'",
]

[[package]]
name = "flask"
version = "3.0.3"

[[package]]
name = "ours"
version = "0.1.0"
path = "./ours"
editable = true
"""
COMPOSER = """{
  "content-hash": "0",
  "packages": [
    {"name": "monolog/monolog", "version": "3.6.0", "dist": {"type": "zip"}},
    {"name": "ours/tools", "version": "dev-main", "dist": {"type": "path", "url": "../tools"}}
  ],
  "packages-dev": [{"name": "phpunit/phpunit", "version": "v11.1.3"}]
}
"""


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("pnpm-lock.yaml", PNPM_9, REACT),
        ("pnpm-lock.yaml", f"---\nlockfileVersion: '9.0'\n---\n{PNPM_9}", REACT),
        ("pnpm-lock.yaml", PNPM_6, {**REACT, "@babel/core": "7.22.0"}),
        ("yarn.lock", YARN_1, {"@babel/core": "7.24.0", "react-dom": "18.2.0", "react": "18.2.0",
                               "ranged": "1.9.0", "unranged": "0.1.0", "thing": "1.0.0"}),
        ("yarn.lock", YARN_BERRY, {"@babel/core": "7.24.0", "react-dom": "18.2.0",
                                   "react": "18.2.0"}),
        ("bun.lock", BUN, {"@babel/core": "7.24.0", "is-odd": "", "react": "18.2.0"}),
        ("Pipfile.lock", PIPFILE, {"flask-login": "0.6.3", "any": "", "thing": "",
                                   "pytest": "8.2.0"}),
        ("pdm.lock", PDM, {"flask-login": "0.6.3", "flask": "3.0.3"}),
        ("composer.lock", COMPOSER, {"monolog/monolog": "3.6.0", "phpunit/phpunit": "v11.1.3"}),
    ],
)  # fmt: skip
def test_a_lock_file_gives_the_packages_of_registries_and_none_of_ones_own(
    path: str, text: str, found: dict[str, str]
) -> None:
    one = lock_format(path)
    assert one is not None
    files = LockFiles({path: text})
    assert files.packages(one.language) == found
    for damaged in ("", "[]", "<html>", "{", text[: text.index("\n")]):
        with pytest.raises(InputError, match=f"{path} is not a {path} that can be read"):
            LockFiles({path: damaged}).packages(one.language)


@pytest.mark.parametrize(
    ("path", "text", "says"),
    [
        ("pnpm-lock.yaml", PNPM_9.partition("snapshots")[0], "no snapshots, which come last"),
        ("pnpm-lock.yaml", PNPM_6.partition("  /react@18")[0], "depends on react, which is not"),
        ("pnpm-lock.yaml", "lockfileVersion: 5.4\n", "version 5; known here: 6, 9"),
        ("yarn.lock", YARN_1.rpartition("  version")[0], "has no version"),
        ("yarn.lock", YARN_BERRY.rpartition("  resolution")[0], "no version or resolution"),
        ("yarn.lock", YARN_BERRY + '"a@npm:^1":\n  dependencies:\n    "@b/c": "npm:^1"\n',
         "a depends on @b/c, which is not"),
        ("bun.lock", '{"lockfileVersion": 7}', "version 7; known here: 0, 1"),
        ("pdm.lock", PDM.replace('"flask"', '"other"'), "depends on flask, which is not"),
    ],
)  # fmt: skip
def test_a_lock_file_that_is_not_whole_or_not_known_is_refused(
    path: str, text: str, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        lock_format(path).parse(text)  # type: ignore[union-attr]


def test_composer_without_packages_for_development_is_whole() -> None:
    text = COMPOSER.partition('"packages-dev"')[0] + '"packages-dev": null}'
    assert LockFiles({"composer.lock": text}).packages("php") == {"monolog/monolog": "3.6.0"}


def test_a_replacement_of_one_version_replaces_only_that() -> None:
    text = """module example.org/m

go 1.22

require (
	example.org/a v1.2.0
	example.org/b v1.5.0
	example.org/c v1.0.0
	example.org/d v1.0.0
)

replace (
	example.org/a v1.2.0 => example.org/fork v1.3.0
	example.org/b v1.4.0 => example.org/other v9.9.9
	example.org/b v1.3.0 => ../b
	example.org/c => example.org/all v2.0.0
	example.org/c v1.0.0 => example.org/one v3.0.0
)

replace example.org/d v1.0.0 => ../d
"""
    assert LockFiles({"go.mod": text}).packages("go") == {
        "example.org/b": "v1.5.0", "example.org/fork": "v1.3.0", "example.org/one": "v3.0.0",
    }  # fmt: skip


def test_go_mod_is_read_as_go_reads_it() -> None:
    text = """module(
	"example.org/m"
)
go  1.22 // a version

tool example.org/made

require(// grouped

	example.org/a v1.0.0// indirect
	`example.org/b` "v1.1.0"	// indirect
)
require ()
exclude(
	example.org/a v0.9.0
)
replace(
	"example.org/b"=> "../b c"
	example.org/c v1.0.0 =>example.org/d v1.2.0
)
retract [v0.1.0, v0.2.0] // not good
require "example.org/c" v1.0.0
"""
    found = {"example.org/a": "v1.0.0", "example.org/d": "v1.2.0"}
    text = text.replace('"=>', '" =>').replace("=>example", "=> example")
    assert LockFiles({"go.mod": text}).packages("go") == found
    assert LockFiles({"go.mod": text.replace("\n", "\r\n")}).packages("go") == found
    sums = "example.org/old v0.1.0 h1:00=\n"
    assert LockFiles({"go.mod": text, "go.sum": sums}).packages("go") == found


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_key_of_yaml_may_be_longer_than_a_thousand_characters(ends: str) -> None:
    ranges = [f"^{number}.0.0" for number in range(200)]
    key = ", ".join(f"@babel/core@npm:{one}" for one in ranges)
    berry = YARN_BERRY.replace("@babel/core@npm:^7.0.0, @babel/core@npm:^7.1.0", key)
    peers = "".join(f"(peer-{number}@1.0.0)" for number in range(100))
    snapshots = (
        f"snapshots:\n  react@18.2.0{peers}: {{}}\n  '@a/b@1.0.0{peers}':\n    optional: true\n"
    )
    pnpm = PNPM_9.replace("snapshots:\n", snapshots)
    assert len(key) > 1024 and len(peers) > 1024 and key in berry and peers in pnpm
    parse_berry = lock_format("yarn.lock").parse  # type: ignore[union-attr]
    assert parse_berry(berry.replace("\n", ends)) == parse_berry(YARN_BERRY)
    parse_pnpm = lock_format("pnpm-lock.yaml").parse  # type: ignore[union-attr]
    assert parse_pnpm(pnpm.replace("\n", ends)) == REACT


@pytest.mark.parametrize(
    "text",
    ["lockfileVersion: '6.0'\n", "lockfileVersion: '9.0'\n\nimporters:\n\n  .: {}\n",
     "lockfileVersion: '6.0'\n\nsettings:\n  autoInstallPeers: true\n"],
)  # fmt: skip
def test_a_project_without_dependencies_has_a_lock_file_of_pnpm(text: str) -> None:
    assert LockFiles({"pnpm-lock.yaml": text}).packages("javascript") == {}


def test_what_npm_gives_no_version_has_none() -> None:
    lock = {
        "lockfileVersion": 3,
        "packages": {
            "": {"dependencies": {"a": "^1", "b": "^1"}},
            "node_modules/a": {"version": None, "name": None},
            "node_modules/b": {},
        },
    }
    assert parse_package_lock(json.dumps(lock)) == {"a": "", "b": ""}
    assert parse_package_lock('{"lockfileVersion": 3, "packages": {"": {}}}') == {}


@pytest.mark.parametrize("name", ["pnpm-lock.yaml", "yarn.lock"])
@pytest.mark.parametrize("marks", ["- ", "[", "[ #]\n"])
def test_a_lock_file_that_nests_too_deep_does_not_end_the_process(name: str, marks: str) -> None:
    text = f"lockfileVersion: '9.0'\n__metadata:\n  {marks * 100_000}"
    with pytest.raises(ValueError, match="nests too deep"):
        lock_format(name).parse(text)  # type: ignore[union-attr]


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "a b" + "=" * 100_000 + "${X"),
        ("requirements.txt", "a" + "=a" * 100_000),
        ("requirements.txt", "a.whl[" * 50_000),
        ("yarn.lock", "__metadata:\n" + '"' + "a" * 200_000),
        ("pnpm-lock.yaml", "lockfileVersion: '6.0'\npackages:\n  '" + "@1" * 50_000 + "': 1\n"),
    ],
)
def test_a_line_that_does_not_end_takes_no_minutes(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"not a requirement|not YAML|not a table"):
        lock_format(name).parse(text)  # type: ignore[union-attr]


def test_a_last_line_that_goes_on_is_a_line() -> None:
    assert parse_requirements("a==1\nb==2 \\\n") == {"a": "1", "b": "2"}
    assert parse_requirements("a==1\nb==2\\") == {"a": "1", "b": "2"}


def test_early_lock_files_are_read() -> None:
    pdm = """[[package]]
name = "six"
version = "1.16.0"

[metadata]
lock_version = "3.1"
"""
    yarn = 'mime-db@~1.0.1:\n  name mime-db\n  version "1.0.3"\nmime@2:\n  version "2.0.0"\n'
    gems = "PLUGIN SOURCE\n  specs:\n    business (1.5.0)\n\nDEPENDENCIES\n  business!\n"
    files = LockFiles({"pdm.lock": pdm, "yarn.lock": yarn, "Gemfile.lock": gems})
    assert files.packages("python") == {"six": "1.16.0"}
    assert files.packages("javascript") == {"mime-db": "1.0.3", "mime": "2.0.0"}
    assert files.packages("ruby") == {"business": "1.5.0"}


def test_of_two_names_of_one_format_the_one_counts_that_its_tool_reads() -> None:
    npm = '{"lockfileVersion": 3, "packages": {"node_modules/a": {"version": "%s"}}}'
    gems = "GEM\n  specs:\n    a (%s)\n\nDEPENDENCIES\n  a\n"
    files = LockFiles(
        {
            "web/package-lock.json": npm % "2.0.0",
            "web/npm-shrinkwrap.json": npm % "1.0.0",
            "Gemfile.lock": gems % "2.0",
            "gems.locked": gems % "1.0",
        }
    )
    assert files.packages("javascript") == {"a": "1.0.0"} and files.packages("ruby") == {"a": "1.0"}
    assert files.not_read() == [
        "Gemfile.lock is not read: its tool takes gems.locked, which is beside it",
        "web/package-lock.json is not read: its tool takes npm-shrinkwrap.json, which is beside it",
    ]


@pytest.mark.parametrize("name", NOT_READ)
def test_a_lock_file_that_is_not_read_is_named_beside_one_that_is(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / name).touch()
    (tmp_path / "package.json").touch()
    (tmp_path / "requirements.txt").write_text("rich==14.1.0\n", encoding="utf-8")
    said = [f"app/{name} is not read: {NOT_READ[name]}"]
    files = find_lock_files(tmp_path)
    assert files.not_read() == said and files.packages("python") == {"rich": "14.1.0"}
    assert LockFiles({**files.texts, f"app/{name}": ""}).not_read() == said


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pom.xml", "pom.xml is not read: packages of Java are not known here"),
        ("app/build.gradle", "app/build.gradle is not read: packages of Java"),
        ("Cargo.toml", "Cargo.toml is not read: `cargo generate-lockfile` makes Cargo.lock"),
    ],
)
def test_a_file_that_is_known_and_not_read_is_named(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    with pytest.raises(InputError, match="there is no lock file in") as caught:
        find_lock_files(tmp_path)
    assert says in caught.value.args[0] and "pnpm-lock.yaml, yarn.lock" in caught.value.hint

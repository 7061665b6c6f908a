#!/usr/bin/env python3
"""The manual pages are whole: man/ has a page for each program with exactly
its options and their arguments, epdx.7 has every setting of
src/base/options.c, each public call gets a page of section 3, and mandoc and
man, where they are there, find nothing wrong."""
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from check_docs import CALL
from source import TOP, read, report, sources

OPTIONS = "src/base/options.c"
OVERVIEW = "man/epdx.7"
# A row of a program's table of options, and the shared rows' file.
OPTION = re.compile(r'\{\s*("[a-z][a-z-]*"|EPI_\w+_OPTION),'
                    r'\s*(?:"([^"]*)"|NULL),')
PROGRAM = re.compile(r'\.program = ("\w+"|[A-Z]\w*)')
SHARED = Path("src/tools/source.h")
SETTING = re.compile(r'"(EPDX_[A-Z0-9_]+)"')


def page_options(text):
    return {name: value or None for name, value in
            re.findall(r"^\.It Fl -([a-z-]+)(?: Ar (.*))?$", text, re.M)}


@cache
def defined():
    """Texts by the names that #define gives them."""
    return {name: text for path in sources() for name, text in
            re.findall(r'^#define (\w+)\s+"([^"]*)"', read(path), re.M)}


def value_of(token):
    return token.strip('"') if token[0] == '"' else defined().get(token, token)


def table_options(path):
    """What a program's file says --help shows."""
    text = read(path)
    if "EPI_SOURCE_ARGS(" in text:
        text += read(SHARED)
    text = text.replace("\\\n", "\n")
    options = {value_of(name): value or None
               for name, value in OPTION.findall(text)}
    return {**options, "help": None, "version": None}


def programs():
    findings = []
    for path in sources():
        if path.parts[0] != "src" or path.suffix != ".c":
            continue
        match = PROGRAM.search(read(path))
        if not match or "_test" in path.name:
            continue
        # A program's own #define comes before those of other files.
        own = re.search(rf'^#define {match.group(1)}\s+"(\w+)"', read(path),
                        re.M)
        name = f"man/{own.group(1) if own else value_of(match.group(1))}.1"
        if not (TOP / name).is_file():
            findings.append(f"{name}: is not there, and {path} is a program")
            continue
        shown = page_options((TOP / name).read_text(encoding="utf-8"))
        there = table_options(path)
        for option in sorted(shown.keys() | there.keys()):
            if option not in shown:
                findings.append(f"{name}: --{option} of {path} is missing")
            elif option not in there:
                findings.append(f"{name}: {path} has no --{option}")
            elif shown[option] != there[option]:
                findings.append(f"{name}: --{option} takes {there[option]}, "
                                f"not {shown[option]}")
    return findings


def settings():
    known = SETTING.findall((TOP / OPTIONS).read_text(encoding="utf-8"))
    shown = re.findall(r"^\.It Ev (EPDX_\w+)$",
                       (TOP / OVERVIEW).read_text(encoding="utf-8"), re.M)
    return [f"{OVERVIEW}: {name} of {OPTIONS} is there {shown.count(name)} "
            "times, not once" for name in sorted(set(known) | set(shown))
            if shown.count(name) != 1 or name not in known]


def calls(folder):
    headers = [path for path in sources() if path.parts[0] == "include"]
    run = subprocess.run(
        [sys.executable, "-B", TOP / "scripts" / "man3.py", folder, *headers],
        cwd=TOP, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        return [run.stderr.strip()]
    return [f"{path}: {name} gets no page of section 3"
            for path in headers for name in CALL.findall(read(path))
            if not (Path(folder) / f"{name}.3").is_file()]


def lint(folder):
    pages = [*sorted((TOP / "man").glob("*.[17]")),
             *[page for page in sorted(Path(folder).glob("*.3"))
               if not page.read_text(encoding="utf-8").startswith(".so ")]]
    # mdoc's own words for a page that is not of its system are not ours.
    linters = [["mandoc", "-T", "lint", "-W", "warning"],
               ["man", "--warnings", "-E", "UTF-8", "-l"]]
    findings = []
    for linter in linters:
        if shutil.which(linter[0]) is None:
            continue
        for page in pages:
            # man's standard output is the page, mandoc's are its findings.
            words = subprocess.PIPE
            out = subprocess.DEVNULL if linter[0] == "man" else words
            run = subprocess.run([*linter, page], stdout=out, stderr=words,
                                 text=True, check=False)
            findings += [f"{page.name}: {line}" for line in
                         ((run.stdout or "") + run.stderr).splitlines()]
    return findings


def main():
    with tempfile.TemporaryDirectory() as folder:
        return report("man", programs() + settings() + calls(folder) +
                      lint(folder))


if __name__ == "__main__":
    sys.exit(main())

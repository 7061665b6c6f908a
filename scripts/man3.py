#!/usr/bin/env python3
"""man3.py FOLDER HEADER...: the manual pages of section 3, one a public
header, made of its comments, and for each call a page that leads there.
FOLDER is emptied first."""
import re
import shutil
import sys
from pathlib import Path

from check_docs import CALL, LABELS

COMMENT = re.compile(r"/\*.*?\*/", re.S)
CALL_WHOLE = re.compile(
    r"/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*"
    r"EPDX_API\s+(?P<before>[^;{()]*?)(?P<name>epdx_\w+)\s*"
    r"\((?P<arguments>[^;]*)\);", re.S)
# A line of a drawing or a table: it is shown as it stands.
DRAWN = re.compile(r"\S {2,}\S|-->|\\-->|^ {3,}\S")
CODE = re.compile(r"(_?EPDX_[A-Z_]+)\s+(\S.*)")
OVERVIEW = Path(__file__).resolve().parent.parent / "man" / "epdx.7"


def escape(line):
    line = line.replace("\\", "\\e")
    return "\\&" + line if line.startswith((".", "'")) else line


def bare(comment):
    """A comment's lines without its stars, and without empty ends."""
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip()
             for line in comment.strip("/*").splitlines()]
    return "\n".join(lines).strip("\n").splitlines()


def paragraphs(lines):
    """Lines split where they are empty."""
    block = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            yield block
            block = []


def literal(lines, offset=""):
    return [f".Bd -literal{offset}", *map(escape, lines), ".Ed"]


def sentences(lines):
    """Running text, in which mdoc wants each sentence on a line of its own."""
    text = "\n".join(line.strip() for line in lines if line.strip())
    text = re.sub(r"(?<=[A-Za-z0-9)\"][.!?]) +", "\n", text)
    return [escape(line) for line in text.splitlines()]


def prose(lines):
    """mdoc of a comment's paragraphs; drawings stay as they are."""
    out = []
    for block in paragraphs(lines):
        if any(DRAWN.search(line) for line in block):
            out += literal(block, " -offset indent")
        else:
            out += [".Pp", *sentences(block)]
    return out[1:] if out[:1] == [".Pp"] else out


def labelled(lines):
    """A call's comment: its sentences, and the lines of each label."""
    parts = {None: []}
    label = None
    for line in lines:
        match = re.match(rf"({'|'.join(LABELS)}):\s+(\S.*)", line)
        if match:
            label = match.group(1)
            parts[label] = [match.group(2)]
        else:
            parts[label].append(line if label is None else line[9:])
    return parts


def errors(lines):
    """The list of what a call answers, and what is said before and after."""
    out = []
    listing = False
    for line in lines:
        match = CODE.fullmatch(line)
        if match:
            out += [] if listing else [
                ".Bl -tag -compact -width EPDX_ERR_UNREACHABLE"]
            out += [f".It Er {match.group(1)}", *sentences([match.group(2)])]
            listing = True
        else:
            if listing and not line.startswith(" "):
                out += [".El"]
                listing = False
            out += sentences([line])
    return out + [".El"] * listing


def call(match):
    parts = labelled(bare(match["comment"]))
    out = [f".Ss {match['name']}", *prose(parts[None])]
    out += [".Bl -tag -width Threads"]
    for label in LABELS:
        lines = parts.get(label, [])
        if label == "Errors":
            out += [f".It Sy {label}", *errors(lines)]
        elif lines and lines != ["none."]:
            out += [f".It Sy {label}", *sentences(lines)]
    return out + [".El"]


def prototype(match):
    before = re.sub(r"\bEPDX_MUST_CHECK\b", "", match["before"])
    out = [f".Ft \"{' '.join(before.split())}\"", f".Fo {match['name']}"]
    for argument in match["arguments"].split(","):
        out.append(f".Fa \"{' '.join(argument.split())}\"")
    return out + [".Fc"]


def types(text):
    """What a header declares but its calls, with its comments."""
    text = CALL_WHOLE.sub("", text[COMMENT.search(text).end():])
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text,
                  flags=re.S | re.M)
    text = re.sub(r"^#(ifndef|include|define EPDX_\w+_H|endif).*\n", "", text,
                  flags=re.M)
    text = re.sub(r"^#if .*\n\s*", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").splitlines()


def page(path, pages):
    """The name of a header's page, its calls, and its text."""
    text = path.read_text(encoding="utf-8")
    calls = list(CALL_WHOLE.finditer(text))
    names = [match["name"] for match in calls]
    if names != CALL.findall(text):
        sys.exit(f"man3: {path.name}: a call is not read: "
                 f"{set(CALL.findall(text)) ^ set(names)}")
    name = pages[path.stem]
    head = " ".join(bare(COMMENT.search(text).group())).split(": ", 1)[1]
    about = re.split(r"\. | \(|[;:.]$", head)[0]
    date = re.search(r"^\.Dd .*$", OVERVIEW.read_text(encoding="utf-8"), re.M)
    listed = list(dict.fromkeys([name, *names]))
    out = [date.group(), f".Dt {name.upper()} 3", ".Os epdx", ".Sh NAME"]
    out += [f".Nm {one} ," for one in listed[:-1]]
    out += [f".Nm {listed[-1]}", f".Nd {about}"]
    out += [".Sh LIBRARY", "libepdx (\\-lepdx)", ".Sh SYNOPSIS",
            f".In epdx/{path.name}"]
    for match in calls:
        out += prototype(match)
    lines = bare(COMMENT.search(text).group())
    lines[0] = lines[0].split(": ", 1)[-1]
    lines[0] = lines[0][:1].upper() + lines[0][1:]
    out += [".Sh DESCRIPTION", *prose(lines)]
    declared = types(text)
    if declared:
        out += [".Sh TYPES", *literal(declared)]
    if calls:
        out += [".Sh FUNCTIONS"]
        for match in calls:
            out += call(match)
    out += [".Sh SEE ALSO"]
    others = sorted(other for other in set(pages.values()) if other != name)
    out += [f".Xr {other} 3 ," for other in others] + [".Xr epdx 7"]
    return name, listed, "\n".join(out) + "\n"


def main():
    folder = Path(sys.argv[1])
    headers = sorted(map(Path, sys.argv[2:]))
    headers = [path for path in headers if path.stem != "export"]
    # A page is named for its header, but epdx is the overview's.
    pages = {path.stem: "epdx_" + path.stem for path in headers}
    pages.update({"epdx": "epdx_version"} if "epdx" in pages else {})
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in headers:
        name, names, text = page(path, pages)
        (folder / f"{name}.3").write_text(text, encoding="utf-8")
        for other in names:
            if other != name:
                (folder / f"{other}.3").write_text(f".so man3/{name}.3\n",
                                                   encoding="utf-8")


if __name__ == "__main__":
    main()

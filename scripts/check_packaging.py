#!/usr/bin/env python3
"""The Spack recipe and the presets name options that this tree has, and the
recipe has this tree's version."""
import ast
import json
import re
import sys

from source import TOP, report

RECIPE = "scripts/packaging/spack/spack_repo/epdx/packages/epdx/package.py"
PRESETS = "CMakePresets.json"


def text_of(path):
    return (TOP / path).read_text(encoding="utf-8")


def options():
    files = [TOP / "CMakeLists.txt", *(TOP / "cmake").glob("*.cmake")]
    return {name for file in files for name in re.findall(
        r"(?:option\(|set\()(EPDX_\w+)", file.read_text(encoding="utf-8"))}


def main():
    recipe = text_of(RECIPE)
    strings = [node.value for node in ast.walk(ast.parse(recipe, RECIPE))
               if isinstance(node, ast.Constant) and
               isinstance(node.value, str)]
    named = [(RECIPE, text) for text in strings
             if re.fullmatch(r"EPDX_\w+", text)]
    for preset in json.loads(text_of(PRESETS))["configurePresets"]:
        named += [(PRESETS, name) for name in preset.get("cacheVariables", {})
                  if name.startswith("EPDX_")]
    known = options()
    findings = [f"{path}: no option {name}" for path, name in
                dict.fromkeys(named) if name not in known]
    version = re.search(r"project\(epdx VERSION ([0-9.]+)",
                        text_of("CMakeLists.txt")).group(1)
    if not re.search(rf'^    version\("{re.escape(version)}"', recipe, re.M):
        findings.append(f"{RECIPE}: no version {version}")
    return report("packaging", findings)


if __name__ == "__main__":
    sys.exit(main())

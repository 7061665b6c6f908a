"""The results of one run of scripts/bench.sh: a folder of one JSON object a
subject, and what the counting tests printed."""
import json
import re
from pathlib import Path


class Results:
    def __init__(self, folder):
        self.folder = Path(folder)

    def of(self, name):
        """A subject's results; none where it was not run."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            return []
        return json.loads(path.read_text(encoding="utf-8"))["results"]

    def find(self, name, **wanted):
        """The results of which every key has the wanted value; a key that a
        result lacks is 0."""
        return [row for row in self.of(name)
                if all(row.get(key, 0) == value
                       for key, value in wanted.items())]

    def one(self, name, **wanted):
        found = self.find(name, **wanted)
        return found[0] if found else None

    def text(self, name):
        path = self.folder / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def heap_calls(self):
        """Heap calls an item: of epdx, of ZeroMQ, of UCX."""
        match = re.search(r"an item: ([\d.]+) heap calls of epdx, ([\d.]+) of "
                          r"ZeroMQ, ([\d.]+) of UCX", self.text("counts.txt"))
        return tuple(map(float, match.groups())) if match else None

    def copies(self):
        """Copies of a byte: by epdx, by libraries."""
        match = re.search(r"a byte: ([\d.]+) copies by epdx, ([\d.]+) by",
                          self.text("counts.txt"))
        return tuple(map(float, match.groups())) if match else None

    def instructions(self):
        """Pending requests to instructions of a drain."""
        return {int(pending): int(count) for pending, count in re.findall(
            r"drain with (\d+) pending: (\d+) instructions",
            self.text("instructions.txt"))}

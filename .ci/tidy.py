#!/usr/bin/env python3
"""clang-tidy over many sources: tidy.py BUILD OUT JOBS [--checks=...] < FILES (one a line, relative to the root).

Most of clang-tidy's time goes into the headers of others, so sources of one folder that are compiled alike are looked
at as one unit. Sources that do not go into one unit, because both name something the same, are looked at in smaller
ones. Prints the findings; the last line is "BAD ALL": files with findings, and all.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

UNIT_SOURCES = 8
FINDING = re.compile(r"^(\S+?):\d+:\d+: (?:error|warning): ")


def flags_of(command):
    """What a unit needs of a compiler's command: macros, folders, the language."""
    words = shlex.split(command)
    flags = []
    for i, word in enumerate(words):
        if word.startswith(("-D", "-I", "-std=")):
            flags.append(word)
        elif word == "-isystem":
            flags += [word, words[i + 1]]
    return tuple(flags)


def units_of(files, database):
    """Sources of a folder with the same flags, neighbours in the alphabet apart: they are often alike inside."""
    alike = defaultdict(list)
    for file in sorted(files):
        alike[os.path.dirname(file), database[file]].append(file)
    for (_, flags), sources in alike.items():
        count = -(-len(sources) // UNIT_SOURCES)
        for i in range(count):
            yield sources[i::count], flags


class Tidy:
    def __init__(self, root, out, options):
        self.root, self.out, self.options = root, out, options

    def run(self, unit):
        """Returns (text, the files with findings) of a unit."""
        sources, flags = unit
        path = os.path.join(self.out, sources[0].replace("/", "_") + f".{len(sources)}.cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f'#include "{self.root}/{source}"  // NOLINT\n' for source in sources)
        result = self.tidy(path, flags)
        if len(sources) > 1 and "[clang-diagnostic-error]" in result.stdout:
            half = (len(sources) + 1) // 2
            parts = [self.run((part, flags)) for part in (sources[:half], sources[half:])]
            return "".join(text for text, _ in parts), set().union(*(bad for _, bad in parts))
        bad = {os.path.relpath(m[1], self.root) for m in map(FINDING.match, result.stdout.splitlines()) if m}
        if result.returncode != 0 and not bad:
            return result.stdout + result.stderr, set(sources)
        return result.stdout, bad

    def tidy(self, path, flags):
        config = f"--config-file={self.root}/.clang-tidy"
        return subprocess.run(["clang-tidy", config, "--quiet", *self.options, path, "--", *flags], cwd=self.root,
                              capture_output=True, text=True, check=False)


def main():
    build, out, jobs, *options = sys.argv[1:]
    root = os.getcwd()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    database = {}
    for entry in entries:  # some tests compile sources of the program a second time, with flags of their own
        source = os.path.relpath(entry["file"], root)
        if source not in database or " -o tests/" not in entry["command"]:
            database[source] = flags_of(entry["command"])
    files = sys.stdin.read().split("\n")[:-1]
    os.makedirs(out, exist_ok=True)
    bad = set()
    with ThreadPoolExecutor(int(jobs)) as pool:
        for text, found in pool.map(Tidy(root, out, options).run, units_of(files, database)):
            print(text, end="", flush=True)
            bad |= found
    print(len(bad), len(files))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

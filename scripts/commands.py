#!/usr/bin/env python3
"""Runs the commands of the documents in a fresh clone.

usage: commands.py check             checks that each rule of commands.toml applies to a command, and that the tests that
                                     Markdown names exist
       commands.py list              prints each command and how it is run
       commands.py run [PAGE...]     runs the commands of all pages or of the given pages, and prints a table

Commands are the lines of Markdown blocks that are marked `sh`, and the last column of the tables in REPRODUCING. The
rules of commands.toml name the commands that are not run to their end. All pages share a clone of the last commit in
target/commands. Builds go to CARGO_TARGET_DIR if it is set, otherwise into the clone.
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "target/commands"
CLONE = FOLDER / "clone"
SETTINGS = tomllib.loads((ROOT / "scripts/commands.toml").read_text())
REPRODUCING = "docs/reproducing.md"


class Failure(Exception):
    """The reason why a command failed."""


class Command:
    """A command of a page, the folder that it is run in, and the rule that applies to it."""

    def __init__(self, page, line, text, folder="."):
        self.place, self.page, self.text, self.folder = f"{page}:{line}", page, text, folder
        self.rule = next((rule for rule in SETTINGS["rule"] if re.search(rule["pattern"], text)), None)
        self.way = self.rule["way"] if self.rule else "run"

    def steps(self):
        """Returns the command, preceded by its build if it is stopped early: the limit does not apply to compilers."""
        program = self.text.partition(" -- ")[0]
        if self.way == "start" and program.startswith("cargo lab "):
            yield "cargo build --release --manifest-path lab/Cargo.toml", None
        if self.way == "start" and " cargo run " in f" {program}":
            yield program.replace("cargo run", "cargo build"), None
        elif self.way == "start" and re.search(r"\bcargo (test|bench) ", program):
            yield f"{program} --no-run", None
        yield self.text, SETTINGS["seconds"] if self.way == "start" else None

    def run(self, environment):
        """Runs the command, and returns the result in words."""
        if self.way == "skip":
            return f"skipped: {self.rule['reason']}"
        for text, limit in self.steps():
            for word, value in SETTINGS["values"].items():
                text = re.sub(rf"(?<!\S){re.escape(word)}(?!\S)", value, text)
            began, log = time.monotonic(), FOLDER / "log"
            with log.open("w") as output:
                process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=CLONE / self.folder, env=environment,
                                           stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
                try:
                    status = process.wait(limit)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    return f"no error in {limit} s: {self.rule['reason']}"
            said = log.read_text(errors="replace")
            if status != 0:
                raise Failure(f"exit code {status}:\n{said[-3000:]}")
            if re.search(r"\bcargo test\b(?!.*--no-run)", text) and not re.search(r"^running [1-9]", said, re.M):
                raise Failure("no test has this name")
        return f"ends after {time.monotonic() - began:.0f} s"


def tracked(*patterns):
    output = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return output.stdout.splitlines()


def blocks(page):
    """Yields the commands in the blocks of a page."""
    is_shell, begun, text, folder = False, 0, "", "."
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if line.startswith("```"):
            is_shell, folder = line == "```sh", "."
        elif is_shell:
            begun = begun if text else number
            text += re.sub(r"\s{2,}#.*$", "", line).strip()
            if text.endswith("\\"):
                text = text[:-1]
                continue
            if text.startswith("cd "):
                folder = text.removeprefix("cd ")
            elif text:
                yield Command(page, begun, text, folder)
            text = ""


def inline_code(page):
    """Yields the code within the lines of a page, with line numbers, and whether it is in the last column of a table.

    After a line such as "Run `cargo test NAME`:", the code in the last column completes this command, up to the next
    heading.
    """
    pattern, is_block = None, False
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        if line.startswith("```"):
            is_block = not is_block
        if is_block:
            continue
        if line.startswith("## "):
            pattern = None
        elif found := re.match(r"Run `(.+) [A-Z]+`", line):
            pattern = found[1]
            continue
        before, _, last = line.removesuffix("|").rpartition(" | ") if line.startswith("| ") else (line, "", "")
        for text in re.findall(r"`([^`]+)`", before):
            yield number, text, False
        for text in re.findall(r"`([^`]+)`", last):
            is_complete = not pattern or re.match(r"cargo |scripts/", text)
            yield number, text if is_complete else f"{pattern} {text}", True


def every_command():
    """Yields each command once. A page in `first` comes before the pages that read its files."""
    known = set()
    for page in SETTINGS["first"] + sorted(set(tracked("*.md")) - set(SETTINGS["first"])):
        tables = (Command(page, number, text) for number, text, is_last in inline_code(page)
                  if page == REPRODUCING and is_last and re.search("[ /]", text))
        for command in [*blocks(page), *tables]:
            if (command.folder, command.text) not in known:
                known.add((command.folder, command.text))
                yield command


def tests_of(folder, target):
    """Returns the tests below the folder of a package, as `module::test`. `target` is a file or folder in `tests`."""
    roots = [folder / "tests" / f"{target}.rs", folder / "tests" / target] if target else [folder / "src", folder / "tests"]
    names = []
    for root in roots:
        for path in [root] if root.is_file() else sorted(root.rglob("*.rs")):
            modules = [] if path == root else path.relative_to(root).with_suffix("").parts
            found = re.findall(r"#\[(?:tokio::)?test\]\s+(?:#\[.*\]\s+)*(?:async )?fn (\w+)", path.read_text())
            names += ["::".join([*modules, name]) for name in found]
    return names


def missing_tests(commands):
    """Yields the places and texts of commands `cargo test ...` that would run no test."""
    folders = {}
    for path in tracked("Cargo.toml", "*/Cargo.toml"):
        manifest = tomllib.loads((ROOT / path).read_text())
        if "package" in manifest:
            folders[manifest["package"]["name"]] = (ROOT / path).parent
    for place, text in commands:
        _, is_test, arguments = text.partition(" -- ")[0].partition("cargo test")
        if not is_test or "--workspace" in arguments:
            continue
        words, options = shlex.split(arguments), {}
        while words and words[0].startswith("-"):
            option = words.pop(0)
            if option in ("-p", "--test", "--features", "--config"):
                options[option] = words.pop(0)
        folder = folders.get(options.get("-p", "srlg"))
        tests = tests_of(folder, options.get("--test")) if folder else []
        if not any(" ".join(words) in test for test in tests):
            yield place, text


def check():
    known = list(every_command())
    inline = [(f"{page}:{number}", text) for page in tracked("*.md") for number, text, _ in inline_code(page)]
    problems = [f"scripts/commands.toml: no command matches {rule['pattern']}"
                for rule in SETTINGS["rule"] if not any(command.rule is rule for command in known)]
    problems += [f"{place}: no test matches {text}"
                 for place, text in missing_tests([(command.place, command.text) for command in known] + inline)]
    for problem in problems:
        print(problem, file=sys.stderr)
    counts = [f"{sum(command.way == way for command in known)} {name}" for way, name in
              [("run", "run to their end"), ("start", "started"), ("skip", "skipped")]]
    print(f"{len(known)} commands in Markdown: {', '.join(counts)}")
    return not problems


def run(pages):
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    subprocess.run(["git", "clone", "--quiet", ROOT, CLONE], check=True)
    subprocess.run([sys.executable, "-m", "venv", FOLDER / "python"], check=True)
    environment = os.environ | {"CARGO_INSTALL_ROOT": str(FOLDER), "PATH": f"{FOLDER}/python/bin:{FOLDER}/bin:{os.environ['PATH']}"}
    if "SRLG_DATA" not in environment:
        sys.exit("set SRLG_DATA to the folder of recorded traffic, which some commands read")
    for text in SETTINGS["setup"]:
        subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=CLONE, env=environment, stdout=sys.stderr, check=True)
    print("| place | command | result |\n|---|---|---|")
    failures = 0
    for command in every_command():
        if pages and command.page not in pages:
            continue
        try:
            result = command.run(environment)
        except Failure as failure:
            failures += 1
            result = "**failed**"
            print(f"{command.place}: {command.text}: {failure}", file=sys.stderr)
        print(f"| {command.place} | `{command.text.replace('|', chr(92) + '|')}` | {result} |", flush=True)
    return failures == 0


def main():
    match sys.argv[1:]:
        case ["check"]:
            sys.exit(not check())
        case ["list"]:
            for command in every_command():
                reason = f" ({command.rule['reason']})" if command.rule else ""
                print(f"{command.place}: {command.way}{reason}: {command.text}")
        case ["run", *pages]:
            sys.exit(not run(pages))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Checks the prose of the project, and draws sentences from it for a reader to judge.

usage: prose.py check             checks the README, the first words of doc comments and the number of words in Markdown
       prose.py draw SEED [N]     prints N sentences (200 by default), the same ones for the same SEED and files

Sentences come from Markdown files, doc comments (which include help texts) and messages (texts in the code and in the
web page, except in tests). A sentence has at least four words. A good seed is the hash of the commit that is judged.
"""

import hashlib
import pathlib
import re
import subprocess
import sys

# Generated pages and the changelog do not count towards the number of words in Markdown.
NOT_COUNTED = {"CHANGELOG.md", "docs/configuration.md", "docs/detection.md", "docs/soak/README.md"}
MOST_WORDS = 62_000
MOST_README_LINES = 90
MOST_SENTENCE_WORDS = 25
LEAST_WORDS = 4
LEAST_CELL_WORDS = 6

# A doc comment that begins with one of these words is a fragment, unless WHOLE contains its first line.
FRAGMENT = re.compile(r"(Of|What|Which|Those|Whoever)\b")

# First lines of doc comments that begin with one of these words, but are whole sentences.
WHOLE: set[str] = set()


def tracked(*patterns):
    output = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *patterns], check=True, capture_output=True, text=True)
    return sorted(path for path in output.stdout.splitlines() if pathlib.Path(path).exists())


def plain(text):
    """Returns a text in Markdown without its markup."""
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])?", r"\1", text)
    text = re.sub(r"<[^>]+>", " ", text)
    return re.sub(r"\s+", " ", text.replace("**", "")).strip()


def sentences(paragraph):
    """Returns the sentences of a paragraph."""
    text = plain(paragraph)
    parts = re.split(r"(?<=[.?!])(?<!e\.g\.)(?<!i\.e\.)(?<! J\.)\s+(?=[A-Z0-9`\"(])", text)
    # A part with fewer words is a command or a name, which is not prose.
    return [part for part in parts if len(re.findall(r"[A-Za-z]{2,}", re.sub(r"`[^`]*`", " ", part))) >= LEAST_WORDS]


def paragraphs(lines):
    """Yields the paragraphs, list items, headings and table cells in numbered lines of Markdown, with line numbers."""
    block, began, is_code = [], 0, False
    for number, line in lines:
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            is_code = not is_code
            stripped = ""
        elif is_code:
            continue
        starts = bool(re.match(r"([-*+]|\d+\.)\s|#|\||>", stripped))
        if (not stripped or starts) and block:
            yield began, " ".join(block)
            block = []
        if stripped.startswith("|"):
            # A shorter cell is a name, or a number with its unit.
            cells = (cell.strip() for cell in stripped.strip("|").split("|"))
            yield from ((number, cell) for cell in cells if len(cell.split()) >= LEAST_CELL_WORDS)
        elif stripped.startswith("#"):
            yield number, stripped.lstrip("# ")
        elif stripped:
            if not block:
                began = number
            block.append(re.sub(r"^([-*+]|\d+\.|>)\s+", "", stripped))
    if block:
        yield began, " ".join(block)


def markdown(path):
    lines = pathlib.Path(path).read_text().splitlines()
    for number, paragraph in paragraphs(enumerate(lines, 1)):
        for sentence in sentences(paragraph):
            yield f"{path}:{number}", sentence


def doc_comments(path):
    """Yields the blocks of doc comments, each as numbered lines without slashes."""
    block = []
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        match = re.match(r"\s*//[/!] ?(.*)$", line)
        if match and not line.lstrip().startswith("////"):
            block.append((number, match[1]))
        elif block:
            yield block
            block = []
    if block:
        yield block


def without_tests(text):
    """Returns code up to its unit tests, which are at the end of the file."""
    return re.split(r"^#\[cfg\(test\)\]\n(?=mod \w+ \{)", text, maxsplit=1, flags=re.M)[0]


def messages(path):
    """Yields the texts in code."""
    text = without_tests(pathlib.Path(path).read_text())
    text = re.sub(r"(?m)^\s*//.*$", "", text)
    for match in re.finditer(r'"((?:[^"\\]|\\.)*)"', text, flags=re.S):
        message = re.sub(r"\\\n\s*", "", match[1]).replace("\\n", " ").replace('\\"', '"')
        words = re.findall(r"[A-Za-z]{2,}", message)
        if len(words) >= LEAST_WORDS and " " in message and not re.search(r"[;{}]\s*$|SELECT|CREATE|INSERT|UPDATE|DELETE|=>|</", message):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}", re.sub(r"\s+", " ", message)


def is_test(path):
    return re.search(r"(^|/)(tests?|benches|snapshots|fuzz)/|tests?\.rs$", path) is not None


def every_sentence():
    for path in tracked("*.md"):
        if path != "CHANGELOG.md":
            yield from markdown(path)
    for path in tracked("*.rs"):
        for block in doc_comments(path):
            for number, paragraph in paragraphs(block):
                for sentence in sentences(paragraph):
                    yield f"{path}:{number}", sentence
        if not is_test(path):
            yield from messages(path)
    for path in tracked("apps/web/src/server/page/*.js", "apps/web/src/server/page/*.html"):
        if "uPlot" not in path:
            yield from messages(path)


def draw(seed, count):
    drawn = sorted(set(every_sentence()),
                   key=lambda it: hashlib.sha256(f"{seed}\0{it[0]}\0{it[1]}".encode()).digest())
    for number, (place, sentence) in enumerate(drawn[:count], 1):
        print(f"{number}. {place}: {sentence}")
    print(f"{count} of {len(drawn)} sentences, seed {seed}", file=sys.stderr)


def check():
    problems = []
    readme = pathlib.Path("README.md").read_text().splitlines()
    if len(readme) > MOST_README_LINES:
        problems.append(f"README.md has {len(readme)} lines, more than {MOST_README_LINES}")
    for place, sentence in markdown("README.md"):
        words = len(sentence.split())
        if words > MOST_SENTENCE_WORDS:
            problems.append(f"{place}: a sentence of {words} words, more than {MOST_SENTENCE_WORDS}: {sentence}")
    for path in tracked("*.rs"):
        for block in doc_comments(path):
            number, line = next(((number, line) for number, line in block if line.strip()), (0, ""))
            if FRAGMENT.match(line) and line not in WHOLE:
                problems.append(f"{path}:{number}: a doc comment begins with a fragment: {line}")
    words = sum(1 for path in tracked("*.md") if path not in NOT_COUNTED
                for word in pathlib.Path(path).read_text().split() if re.search("[A-Za-z]", word))
    if words > MOST_WORDS:
        problems.append(f"{words} words in Markdown, more than {MOST_WORDS}")
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{words} words in Markdown, {len(readme)} lines in README.md")
    sys.exit(bool(problems))


def main():
    match sys.argv[1:]:
        case ["check"]:
            check()
        case ["draw", seed]:
            draw(seed, 200)
        case ["draw", seed, count] if count.isdecimal():
            draw(seed, int(count))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

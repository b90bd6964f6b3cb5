"""Compares autotune's HLO front end with XLA's own on every HLO text in a folder of sources.

Usage: differential_corpus.py --binary HLO_CONVERT --root SOURCE_DIR [--mutate N] [--seed S] FOLDER...

FOLDER is for instance a checkout of XLA: the raw strings of its tests in C++ and its .hlo files are
taken, also those that are meant to be refused. What XLA accepts must give the same protobuf and be
printed so that XLA reads it back; what it refuses must be refused with a position. With --mutate, N
texts more are made of these: a number, an element type, an attribute, an opcode or a token changed.

Accepted differences are those of differential_hlo.py, and these (autotune is the stricter one):
  - layouts that are no permutation, shardings whose tiles, devices and ranges have different sizes, and
    arrays that 64 bits cannot count: XLA refuses them when it reads its own protobuf;
  - what ends XLA's process.
Not part of the tests that run everywhere, since it needs the sources of XLA.
"""

import argparse
import collections
import pathlib
import random
import re
import sys

import differential_hlo

RAW_STRING = re.compile(r'R"([A-Za-z_0-9]*)\((.*?)\)\1"', re.S)
LOOKS_LIKE_HLO = re.compile(r"HloModule|ENTRY|ROOT|parameter\(|constant\(")
LONGEST = 400_000
STRICTER = re.compile(
    r"the layout of an array of|tiles, but|the tile dimensions of a sharding|larger than 64 bits|"
    r"a tile of extent|but only one is given")
NUMBERS = ["0", "1", "2", "3", "4", "8", "-1", "16", "128", "4294967296"]
TYPES = "f32 bf16 s32 u32 pred s8 f64 c64 s4 f16 f8e5m2 u64".split()
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|[A-Za-z_%][\w.\-%]*|-?\d+(?:\.\d+)?|\s+|.', re.S)
ATTRIBUTE = re.compile(
    r',\s*[a-z_\-]+=(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|"[^"]*"|[\w.%\-]+)')


def texts_of(folder):
    """(where, text) of everything that looks like HLO, each text once."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if not path.is_file() or path.suffix not in (".cc", ".h", ".hlo", ".txt"):
            continue
        try:
            content = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path.suffix in (".cc", ".h"):
            for match in RAW_STRING.finditer(content):
                line = content.count("\n", 0, match.start()) + 1
                if LOOKS_LIKE_HLO.search(match.group(2)):
                    found.setdefault(match.group(2), f"{path}:{line}")
        elif "HloModule" in content or "ENTRY" in content:
            for i, part in enumerate(re.split(r"(?://|#) -----", content)):
                found.setdefault(part, f"{path}#{i}")
    return [(where, text) for text, where in found.items() if len(text) <= LONGEST]


def replaced(rnd, text, pattern, choices):
    """The text with one match of the pattern replaced."""
    matches = list(re.finditer(pattern, text))
    if not matches:
        return text
    match = rnd.choice(matches)
    return text[:match.start()] + rnd.choice(choices) + text[match.end():]


def mutated(rnd, text):
    kind = rnd.randrange(6)
    if kind == 0:
        return replaced(rnd, text, r"(?<![\w.])-?\d+(?![\w.])", NUMBERS)
    if kind == 1:
        return replaced(rnd, text, r"\b(?:" + "|".join(TYPES) + r")\b", TYPES)
    if kind == 2:
        return replaced(rnd, text, ATTRIBUTE, [""])
    if kind == 3:
        attributes = [match.group(0) for match in ATTRIBUTE.finditer(text)]
        return replaced(rnd, text, ATTRIBUTE, attributes or [""])
    if kind == 4:
        opcodes = [match.group(0) for match in re.finditer(r" [a-z][a-z\-]+\(", text)]
        return replaced(rnd, text, r" [a-z][a-z\-]+\(", opcodes or [" ("])
    tokens = TOKEN.findall(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if places:
        i = rnd.choice(places)
        tokens[i] = rnd.choice(["", tokens[i] + " " + tokens[i], tokens[rnd.choice(places)]])
    return "".join(tokens)


class Corpus(differential_hlo.Comparison):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.counts = collections.Counter()

    def check(self, where, text):
        self.compared += 1
        expected = self.xla(text)
        ok, answer, _ = self.autotune.convert(text)
        if not isinstance(expected, str):
            if not ok and STRICTER.search(answer):
                self.counts["stricter than XLA"] += 1
                return
            self.counts["accepted by both" if ok else "refused here only"] += 1
            self.accepted(where, text)
            self.compared -= 1
        elif ok:
            ended = expected == "XLA ended its process"
            self.counts["XLA ended its process" if ended else "accepted here only"] += 1
            if not ended:
                self.fail(where, ["accepted, but XLA says " + expected[:300]])
        else:
            self.counts["refused by both"] += 1
            if not re.match(r"case:\d+:\d+: ", answer):
                self.fail(where, ["error without position: " + answer])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--mutate", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    try:
        import jaxlib._hlo  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("jaxlib is not installed: skipped")
        return differential_hlo.SKIPPED
    corpus = Corpus(differential_hlo.Autotune(arguments.binary),
                    differential_hlo.load_protos(arguments.root))
    texts = [pair for folder in arguments.folders for pair in texts_of(folder)]
    rnd = random.Random(arguments.seed)
    if arguments.mutate:
        short = [pair for pair in texts if len(pair[1]) < 2500]
        texts = [(where + " changed", mutated(rnd, text))
                 for where, text in rnd.choices(short, k=arguments.mutate)]
    for where, text in texts:
        corpus.check(where, text)
    for what, count in sorted(corpus.counts.items()):
        print(f"{count:8} {what}")
    print(f"{corpus.compared} compared, {corpus.failures} failures")
    return 1 if corpus.failures or not corpus.compared else 0


if __name__ == "__main__":
    sys.exit(main())

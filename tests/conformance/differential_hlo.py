"""Compares autotune's HLO front end with XLA's own, field by field.

Usage: differential_hlo.py --binary HLO_CONVERT --root SOURCE_DIR [--cases] [FILE...]

For every text that XLA's parser accepts (the ACCEPTED cases of hlo_cases.py with --cases, and the
files), autotune must make the same HloModuleProto of it, and XLA must read what autotune prints to
that same protobuf. For every REJECTED case both must give an error, and autotune's must tell where.

Accepted differences, all of them:
  - HloModuleProto.id, a counter of XLA's process, also of the modules of an origin_recovery_table;
  - the data of elided constants (`{...}`): XLA invents values, autotune writes none;
  - STRICTER cases: errors here where XLA accepts nonsense or ends its process.

Exits with 77 (skipped) where jaxlib is not installed.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
SKIPPED = 77
MAX_DIFFERENCES = 6


class Autotune:
    """The test binary, which answers one text after the other."""

    def __init__(self, binary):
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def convert(self, text):
        """Returns (ok, protobuf or error, printed text)."""
        data = text.encode()
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()
        first, second = self._record(), self._record()
        ok = first[:1] == b"+"
        return ok, first[1:] if ok else first[1:].decode(), second[1:].decode()

    def _record(self):
        (size,) = struct.unpack("<I", self.process.stdout.read(4))
        return self.process.stdout.read(size)


def load_protos(root):
    """The schema's Python classes, generated into a temporary folder."""
    out = tempfile.mkdtemp(prefix="autotune_protos")
    subprocess.run(["protoc", "-I" + root, "--python_out=" + out, "proto/hlo.proto",
                    "proto/xla_data.proto"], cwd=root, check=True)
    sys.path.insert(0, out)
    from proto import hlo_pb2  # pylint: disable=import-outside-toplevel
    return hlo_pb2


def same_number(a, b):
    return a == b or (a != a and b != b)


def differences(ours, xla, path, out):
    """Appends lines that say where two messages differ."""
    if len(out) >= MAX_DIFFERENCES or ours == xla:
        return
    for field in ours.DESCRIPTOR.fields:
        a, b = getattr(ours, field.name), getattr(xla, field.name)
        where = path + "." + field.name
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        if is_map:
            if {k: str(v) for k, v in a.items()} != {k: str(v) for k, v in b.items()}:
                out.append(f"{where}: ours {str(dict(a))[:200]} xla {str(dict(b))[:200]}")
        elif field.label == field.LABEL_REPEATED:
            if len(a) != len(b):
                out.append(f"{where}: ours has {len(a)}, xla {len(b)}: "
                           f"{str(list(a))[:150]} | {str(list(b))[:150]}")
                continue
            for i, (x, y) in enumerate(zip(a, b)):
                name = getattr(x, "name", i)
                if field.message_type is not None:
                    differences(x, y, f"{where}[{name}]", out)
                elif not same_number(x, y):
                    out.append(f"{where}[{i}]: ours {x!r} xla {y!r}")
        elif field.message_type is not None:
            if ours.HasField(field.name) != xla.HasField(field.name):
                out.append(f"{where}: {'only ours' if ours.HasField(field.name) else 'only xla'}")
            elif ours.HasField(field.name):
                differences(a, b, where, out)
        elif not same_number(a, b):
            out.append(f"{where}: ours {a!r} xla {b!r}")
        if len(out) >= MAX_DIFFERENCES:
            return


def drop_elided(ours, xla):
    """Removes the values that XLA invented where ours has none."""
    for a, b in zip(ours.tuple_literals, xla.tuple_literals):
        drop_elided(a, b)
    shape_only = {"shape", "tuple_literals", "dynamic_sizes"}
    if ours.tuple_literals or any(f.name not in shape_only for f, _ in ours.ListFields()):
        return
    for field, _ in xla.ListFields():
        if field.name not in shape_only:
            xla.ClearField(field.name)


class Comparison:
    def __init__(self, autotune, hlo_pb2):
        from jaxlib import _hlo  # pylint: disable=import-outside-toplevel
        self.autotune, self.pb, self.hlo = autotune, hlo_pb2, _hlo
        self.failures = 0
        self.compared = 0

    def parse(self, data):
        module = self.pb.HloModuleProto.FromString(data)
        module.ClearField("id")
        for entry in module.original_value_recovery_table.entries:
            entry.recovery_module.ClearField("id")
        return module

    def xla(self, text):
        """XLA's protobuf, or its error as a string. In a child: XLA may end its process."""
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                data = b"+" + self.hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            except Exception as error:  # pylint: disable=broad-except
                data = b"-" + str(error).encode()
            with os.fdopen(write_end, "wb") as pipe:
                pipe.write(data)
            os._exit(0)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            data = pipe.read()
        os.waitpid(child, 0)
        if data[:1] == b"+":
            return self.parse(data[1:])
        return data[1:].decode() or "XLA ended its process"

    def fail(self, what, lines):
        self.failures += 1
        print("FAILED", what)
        for line in lines:
            print("   ", line)

    def compare(self, what, ours, xla, kind):
        for a, b in zip(ours.computations, xla.computations):
            for x, y in zip(a.instructions, b.instructions):
                if not (x.HasField("literal") and y.HasField("literal")):
                    continue
                drop_elided(x.literal, y.literal)
        out = self.literal_bits(ours, xla)
        differences(ours, xla, "module", out)
        if out:
            self.fail(f"{what}: {kind}", out)

    @staticmethod
    def literal_bits(ours, xla):
        """Literals that are equal to Python but not bit by bit: -0.0 and 0.0."""
        out = []
        for a, b in zip(ours.computations, xla.computations):
            for x, y in zip(a.instructions, b.instructions):
                if x.literal == y.literal and (x.literal.SerializeToString() !=
                                               y.literal.SerializeToString()):
                    out.append(f"{x.name}: a zero of the literal has another sign")
        return out

    def accepted(self, what, text):
        self.compared += 1
        expected = self.xla(text)
        ok, answer, printed = self.autotune.convert(text)
        if isinstance(expected, str):
            self.fail(what, ["XLA rejects this case: " + expected[:300]])
            return
        if not ok:
            self.fail(what, ["rejected: " + answer])
            return
        self.compare(what, self.parse(answer), expected, "text to protobuf differs")
        back = self.xla(printed)
        if isinstance(back, str):
            self.fail(what, ["XLA rejects what autotune printed: " + back[:400], printed[:400]])
            return
        # A lone instruction prints as a module, which numbers its computations in another order.
        if text.lstrip().startswith("HloModule"):
            self.compare(what, self.parse(answer), back, "printed text differs")
        again, answer2, printed2 = self.autotune.convert(printed)
        if not again or printed2 != printed:
            self.fail(what, ["printed text does not read back: " + str(answer2)[:300]])

    def rejected(self, what, text, by_xla):
        self.compared += 1
        ok, answer, _ = self.autotune.convert(text)
        if ok:
            self.fail(what, ["accepted, but XLA says " + str(self.xla(text))[:300]])
        elif not re.match(r"case:\d+:\d+: .+\n  .*\n +\^", answer):
            self.fail(what, ["error without position: " + answer])
        elif by_xla and not isinstance(self.xla(text), str):
            self.fail(what, ["XLA accepts this case; autotune says " + answer])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    try:
        import jaxlib._hlo  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("jaxlib is not installed: skipped")
        return SKIPPED
    comparison = Comparison(Autotune(arguments.binary), load_protos(arguments.root))
    if arguments.cases:
        import hlo_cases  # pylint: disable=import-outside-toplevel
        for text in hlo_cases.accepted():
            comparison.accepted(repr(text)[:160], text)
        for text in hlo_cases.REJECTED:
            comparison.rejected(repr(text)[:160], text, by_xla=True)
        for text, why in hlo_cases.STRICTER:
            comparison.rejected(f"{text!r} ({why})", text, by_xla=False)
    for path in arguments.files:
        with open(path, encoding="utf-8") as file:
            comparison.accepted(path, file.read())
    print(f"{comparison.compared} compared, {comparison.failures} failures")
    return 1 if comparison.failures or not comparison.compared else 0


if __name__ == "__main__":
    sys.exit(main())

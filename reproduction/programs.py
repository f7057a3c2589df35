"""Exported models, run: C compiled by gcc, JavaScript by node, both over whole test sets."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from protolearn.export.c import DTYPES, CExport, export_c
from reproduction.report import provenance, table, write_section

WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")
HOST = ("gcc",)
TARGETS: dict[str, tuple[str, ...]] = {
    "host": HOST,
    "AVR ATmega328P": ("avr-gcc", "-mmcu=atmega328p"),
    "ARM Cortex-M0": ("arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"),
    "ARM Cortex-M4": ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
}
_MAIN = """#include <stdio.h>
#include <stdlib.h>
{includes}
{functions}
int main(int argc, char **argv)
{{
    FILE *in, *out;
    int number;
    if (argc != 4 || !(in = fopen(argv[2], "rb")) || !(out = fopen(argv[3], "wb")))
        return 2;
    number = atoi(argv[1]);
    switch (number) {{
{cases}
    default:
        return 3;
    }}
    return fclose(in) || fclose(out);
}}
"""
_RUN = """static void run_{name}(FILE *in, FILE *out)
{{
    float x[{upper}_N_INPUTS];
    {integers}
    double row[{upper}_N_PROTOTYPES + 1];
    {kind} distances[{upper}_N_PROTOTYPES];
    int i;
    while (fread(x, sizeof(float), {upper}_N_INPUTS, in) == {upper}_N_INPUTS) {{
        {quantize}
        {name}_distances({row}, distances);
        row[0] = (double){name}_predict({row});
        for (i = 0; i < {upper}_N_PROTOTYPES; i++)
            row[i + 1] = (double)distances[i];
        fwrite(row, sizeof(double), {upper}_N_PROTOTYPES + 1, out);
    }}
}}
"""


@dataclass(frozen=True)
class Answers:
    """Class codes and distances of all rows."""

    codes: np.ndarray
    distances: np.ndarray


def available(command: str) -> bool:
    """Whether a program is installed."""
    return shutil.which(command) is not None


def run_c(
    folder: Path, exports: Sequence[CExport], rows: Sequence[np.ndarray], options: Sequence[str] = ("-O1",)
) -> list[Answers]:
    """Compile headers `<prefix>.h` of a folder into one program and run each over its rows."""
    functions, cases = [], []
    for number, export in enumerate(exports):
        name, upper = export.prefix, export.prefix.upper()
        words = {"name": name, "upper": upper, "integers": "", "quantize": "", "row": "x", "kind": "float"}
        if export.dtype != "float32":
            words |= {
                "integers": f"{name}_integer q[{upper}_N_USED];",
                "quantize": f"{name}_quantize(x, q);",
                "row": "q",
                "kind": f"uint{export.model.distance_bits}_t",  # type: ignore[union-attr]
            }
        functions.append(_RUN.format(**words))
        cases.append(f"    case {number}:\n        run_{name}(in, out);\n        break;")
    includes = "\n".join(f'#include "{export.prefix}.h"' for export in exports)
    source = folder / "main.c"
    source.write_text(_MAIN.format(includes=includes, functions="".join(functions), cases="\n".join(cases)))
    program = folder / "main"
    subprocess.run([*HOST, *WARNINGS, *options, str(source), "-o", str(program), "-lm"], check=True)
    found = []
    for number, X in enumerate(rows):
        data, result = folder / "rows.bin", folder / "answers.bin"
        data.write_bytes(np.ascontiguousarray(X, dtype=np.float32).tobytes())
        subprocess.run([str(program), str(number), str(data), str(result)], check=True)
        answers = np.fromfile(result).reshape(len(X), -1)
        found.append(Answers(answers[:, 0].astype(np.int64), answers[:, 1:]))
    return found


def run_js(modules: Sequence[Path], rows: Sequence[np.ndarray]) -> list[list[dict]]:
    """Run modules in node: for each row the class, the distances and the probabilities."""
    script = """
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
const jobs = JSON.parse(readFileSync(0, "utf8"));
const results = [];
for (const { module, rows } of jobs) {
  const m = await import(pathToFileURL(module).href);
  results.push(rows.map((row) => ({ label: m.predict(row), index: m.predictIndex(row), distances: m.distances(row),
    probabilities: m.probabilities(row) })));
}
process.stdout.write(JSON.stringify(results));
"""
    jobs = [{"module": str(module), "rows": np.asarray(X).tolist()} for module, X in zip(modules, rows, strict=True)]
    found = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(jobs),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


@dataclass(frozen=True)
class ObjectSize:
    """Bytes of the sections of an object file: code, constants and initialised data in flash, the rest in RAM."""

    text: int
    data: int
    bss: int


def object_size(folder: Path, export: CExport, target: str) -> ObjectSize:
    """Compile a function that quantises and predicts for a target; the bytes that `size` finds."""
    name, upper = export.prefix, export.prefix.upper()
    if export.dtype == "float32":
        body = f"return {name}_predict(x);"
    else:
        body = f"{name}_integer q[{upper}_N_USED]; {name}_quantize(x, q); return {name}_predict(q);"
    source, result = folder / f"{name}_only.c", folder / f"{name}_only.o"
    source.write_text(
        f'#include "{name}.h"\nint classify(const float *x);\nint classify(const float *x)\n{{ {body} }}\n'
    )
    compiler, *options = TARGETS[target]
    # A freestanding compiler has stdint.h even where no C library is installed for it.
    free = ["-ffreestanding"] if compiler.startswith("arm") else []
    subprocess.run([compiler, *options, *free, *WARNINGS, "-Os", "-c", str(source), "-o", str(result)], check=True)
    command = compiler.replace("gcc", "size")
    lines = subprocess.run([command, str(result)], capture_output=True, text=True, check=True).stdout.splitlines()
    text, data, bss = (int(number) for number in lines[1].split()[:3])
    return ObjectSize(text, data, bss)


def size_table() -> str:
    """Bytes of object files: digits by 20 prototypes, for every target that has a compiler here."""
    from sklearn.datasets import load_digits
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from protolearn import GLVQ, GMLVQ

    X, y = load_digits(return_X_y=True)
    models = {
        "GLVQ, 20 prototypes": GLVQ(2, bounds=None, random_state=0),
        "GMLVQ, 20 prototypes, rank 10": GMLVQ(2, bounds=None, n_components=10, random_state=0),
    }
    targets = [target for target, (compiler, *_) in TARGETS.items() if available(compiler)]
    lines = []
    with tempfile.TemporaryDirectory() as name:
        for number, (text, classifier) in enumerate(models.items()):
            model = make_pipeline(StandardScaler(), classifier).fit(X, y)
            for dtype in DTYPES:
                export = export_c(model, Path(name) / f"model{number}_{dtype}.h", dtype=dtype, X=X)
                sizes = [object_size(Path(name), export, target).text for target in targets]
                lines.append((text, dtype, export.size.flash, export.size.ram, *sizes))
    return table(("model of the digits, 64 inputs", "numbers", "tables", "RAM", *targets), lines)


def main() -> None:
    """Print the table, or put it into the documentation."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--docs", type=Path)
    options = parser.parse_args()
    text = size_table()
    print(text)
    if options.docs:
        made = provenance("python -m reproduction.programs")
        write_section(options.docs / "export.md", "object files", f"{text}\n\n{made}")


if __name__ == "__main__":
    main()

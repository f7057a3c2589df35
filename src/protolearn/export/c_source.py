"""The text of a C99 header that classifies as the model does, and of a program that uses the header."""

from __future__ import annotations

from collections import Counter

import numpy as np

from protolearn.export.c_float import NORMAL, float_code
from protolearn.export.c_integer import integer_code
from protolearn.export.c_sets import mean_of_sets
from protolearn.export.c_text import comment, constant, string, table, wrapped
from protolearn.export.fixed_point import FixedPointModel
from protolearn.export.plain import PlainModel, PlainSets
from protolearn.export.size import Size, index_bytes, model_size

_MOST_PROTOTYPES = 65535


Written = PlainModel | PlainSets | FixedPointModel


def header(model: Written, name: str) -> str:
    """The whole header; every name in it begins with `name`."""
    sets = _sets(model)
    if sum(one.n_prototypes for one in sets) > _MOST_PROTOTYPES or sets[0].n_inputs > _MOST_PROTOTYPES:
        raise ValueError(f"A C header holds at most {_MOST_PROTOTYPES} prototypes and features; reduce the model.")
    parts = [_opening(model, sets, model_size(model))]
    if any(one.encoding is not None and one.encoding.quantiles is not None for one in sets):
        parts.append(NORMAL)
    if isinstance(model, PlainSets):
        parts += [_set_code(model, k) for k in range(len(sets))]
        parts.append(mean_of_sets(model))
    else:
        parts += [_sizes(sets[0]), _tables(model, sets[0])]
        parts.append(float_code(model) if isinstance(model, PlainModel) else integer_code(model))
    parts.append("#endif /* $_H */\n")
    return "\n".join(parts).replace("@", name).replace("$", name.upper())


def _sets(model: Written) -> tuple[PlainModel, ...]:
    if isinstance(model, PlainSets):
        return model.sets
    return (model if isinstance(model, PlainModel) else model.plain,)


def example(model: Written, name: str, header_name: str) -> str:
    """A program that classifies the row in its arguments by the header."""
    plain = _sets(model)[0]
    row, integers = "x", ""
    if isinstance(model, FixedPointModel):
        row, integers = "q", "    @_integer q[$_N_USED];\n"
    quantize = "    @_quantize(x, q);\n" if integers else ""
    declared, told = "", ""
    if isinstance(model, PlainSets):
        declared = "    float probabilities[$_N_CLASSES];\n"
        told = '    @_probabilities(x, probabilities);\n    printf("probability %.6g\\n", probabilities[best]);\n'
    elif plain.bias is None:
        told = f'    printf("certainty %.6g\\n", @_certainty({row}));\n'
        if isinstance(model, PlainModel) and model.has_radius:
            told += f'    printf("radius %.6g\\n", @_radius({row}));\n'
    text = f"""/* cc -std=c99 main.c -lm && ./a.out VALUE ... */
#include <stdio.h>
#include <stdlib.h>
#include "{header_name}"

int main(int argc, char **argv)
{{
    float x[$_N_INPUTS];
{integers}{declared}    uint16_t j, best;
    if (argc != $_N_INPUTS + 1) {{
        fprintf(stderr, "give %d numbers, in the order of the inputs that the header names\\n", $_N_INPUTS);
        return 2;
    }}
    for (j = 0; j < $_N_INPUTS; j++)
        x[j] = strtof(argv[j + 1], 0);
{quantize}    best = @_predict({row});
    if (best == $_N_CLASSES) {{
        puts("no class");
        return 1;
    }}
    printf("%s\\n", @_class_names[best]);
{told}    return 0;
}}
"""
    return text.replace("@", name).replace("$", name.upper())


def _opening(model: Written, sets: tuple[PlainModel, ...], size: Size) -> str:
    plain = sets[0]
    dtype = model.dtype if isinstance(model, FixedPointModel) else "float32"
    tables = ", ".join(f"{key} {value}" for key, value in size.tables.items())
    names = ", ".join(f"{j} {comment(text)}" for j, text in enumerate(plain.feature_names[:200]))
    more = ", ..." if plain.n_inputs > 200 else ""
    # Logarithms of mixtures and of normal scores; bins and distances need no library.
    by_library = any(
        one.bias is not None or (one.encoding is not None and one.encoding.quantiles is not None) for one in sets
    )
    maths = "#include <math.h>\n" if isinstance(model, PlainSets) or by_library else ""
    limits = "" if isinstance(model, FixedPointModel) else "#include <float.h>\n"
    counts = " and ".join(str(one.n_prototypes) for one in sets)
    numbers = f"{counts} prototypes, {plain.n_inputs} inputs, {plain.n_classes} classes, {dtype}"
    labels = [string(str(label)) for label in plain.classes]
    width = max(len(str(label).encode("utf-8")) for label in plain.classes) + 1
    return f"""/* Nearest prototype classifier written by protolearn: {numbers}.
   flash: {size.flash} bytes of tables ({tables}), without code and class names
   ram:   {size.ram} bytes: one row and what predict holds
   inputs: {names}{more}
   On an AVR the tables stay in program memory, within its first 64 kB; read names with strcpy_P. */
#ifndef $_H
#define $_H
{limits}{maths}#include <stdint.h>
#ifdef __AVR__
#include <avr/pgmspace.h>
#define $_FLASH PROGMEM
#define $_READ_8(p) pgm_read_byte(p)
#define $_READ_16(p) pgm_read_word(p)
#define $_READ_32(p) pgm_read_dword(p)
#define $_READ_FLOAT(p) pgm_read_float(p)
#else
#define $_FLASH
#define $_READ_8(p) (*(p))
#define $_READ_16(p) (*(p))
#define $_READ_32(p) (*(p))
#define $_READ_FLOAT(p) (*(p))
#endif

#define $_N_INPUTS {plain.n_inputs}
#define $_N_CLASSES {plain.n_classes}

/* The place of each input in a row. */
enum {{
    {_places(plain.feature_names)}
}};

static const char @_class_names[$_N_CLASSES][{width}] $_FLASH = {{{", ".join(labels)}}};
"""


def _sizes(plain: PlainModel) -> str:
    return f"#define $_N_USED {plain.n_used}\n#define $_N_PROTOTYPES {plain.n_prototypes}\n"


def _places(names: tuple[str, ...]) -> str:
    """A constant for the place of each input; names that become the same in C end in their place."""
    counts = Counter(map(constant, names))
    found: dict[str, int] = {}
    for j, name in enumerate(names):
        word = constant(name)
        if not word or counts[word] > 1:
            word = f"{word}_{j}"
        while word in found:
            word += "_"
        found[word] = j
    return wrapped((f"$_IN_{word} = {j}" for word, j in found.items()), 4)


def _tables(model: PlainModel | FixedPointModel, plain: PlainModel) -> str:
    found = []

    def add(label: str, kind: str, values: np.ndarray) -> None:
        found.append(table(f"@_{label}", kind, np.asarray(values), "$_FLASH"))

    add("class_ends", f"uint{8 * index_bytes(plain.n_prototypes)}_t", plain.class_ends)
    if plain.columns is not None:
        add("columns", f"uint{8 * index_bytes(plain.n_inputs - 1)}_t", plain.columns)
    if plain.encoding is not None:
        encoding = plain.encoding.in_inputs()
        add("inputs", f"uint{8 * index_bytes(plain.n_inputs - 1)}_t", encoding.columns)
        for label in ("begin", "rate", "quantiles"):
            if getattr(encoding, label) is not None:
                add(label, "float", getattr(encoding, label))
    if isinstance(model, PlainModel):
        kind = "float"
        for label, values in (("weights", plain.weights), ("maps", plain.maps), ("origin", plain.origin)):
            if values is not None:
                add(label, kind, values)
        if plain.bias is not None and plain.bias.any():
            add("bias", kind, plain.bias)
    else:
        kind = f"{model.dtype}_t"
        if model.weights is not None:
            add("weights", "uint16_t", model.weights)
        if model.maps is not None:
            add("maps", kind, model.maps)
            add("multipliers", "int16_t", model.multiplier)
            add("starts", "int32_t", model.start)
        if model.offset.size > 1:
            add("offset", "float", model.offset)
        if model.factor.size > 1:
            add("factor", "float", model.factor)
    add("positions", kind, model.positions)
    return "\n".join(found)


def _set_code(model: PlainSets, k: int) -> str:
    """The tables and functions of one of several sets, under names of their own."""
    plain = model.sets[k]
    text = f"{_sizes(plain)}\n{_tables(plain, plain)}\n{float_code(plain, model.shares[k], model.temperatures[k])}"
    text = text.replace("@_", f"@_set{k}_").replace("$_", f"$_SET{k}_").replace(f"@_set{k}_normal", "@_normal")
    for shared in ("READ_", "FLASH", "N_CLASSES"):
        text = text.replace(f"$_SET{k}_{shared}", f"$_{shared}")
    return text

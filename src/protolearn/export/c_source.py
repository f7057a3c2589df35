"""The text of a C99 header that classifies as the model does."""

from __future__ import annotations

from collections import Counter

import numpy as np

from protolearn.export.c_text import comment, constant, float32, string, table, wrapped
from protolearn.export.fixed_point import FixedPointModel
from protolearn.export.plain import PlainModel
from protolearn.export.size import Size, index_bytes, model_size

_MOST_PROTOTYPES = 65535
_NO_CLASS = "$_N_CLASSES, no class, where an input that counts is NaN, infinite or too large to square"


def header(model: PlainModel | FixedPointModel, name: str) -> str:
    """The whole header; every name in it begins with `name`."""
    plain = model if isinstance(model, PlainModel) else model.plain
    if plain.n_prototypes > _MOST_PROTOTYPES or plain.n_inputs > _MOST_PROTOTYPES:
        raise ValueError(f"A C header holds at most {_MOST_PROTOTYPES} prototypes and features; reduce the model.")
    parts = [_opening(model, plain, model_size(model)), _tables(model, plain)]
    parts.append(_float_code(plain) if isinstance(model, PlainModel) else _integer_code(model))
    parts.append("#endif /* $_H */\n")
    return "\n".join(parts).replace("@", name).replace("$", name.upper())


def example(model: PlainModel | FixedPointModel, name: str, header_name: str) -> str:
    """A program that classifies the row in its arguments by the header."""
    plain = model if isinstance(model, PlainModel) else model.plain
    row, integers = "x", ""
    if isinstance(model, FixedPointModel):
        row, integers = "q", "    @_integer q[$_N_USED];\n"
    quantize = "    @_quantize(x, q);\n" if integers else ""
    certainty = "" if plain.bias is not None else f'    printf("certainty %.6g\\n", @_certainty({row}));\n'
    radius = (
        f'    printf("radius %.6g\\n", @_radius({row}));\n'
        if isinstance(model, PlainModel) and model.has_radius
        else ""
    )
    text = f"""/* cc -std=c99 main.c -lm && ./a.out VALUE ... */
#include <stdio.h>
#include <stdlib.h>
#include "{header_name}"

int main(int argc, char **argv)
{{
    float x[$_N_INPUTS];
{integers}    uint16_t j, best;
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
{certainty}{radius}    return 0;
}}
"""
    return text.replace("@", name).replace("$", name.upper())


def _opening(model: PlainModel | FixedPointModel, plain: PlainModel, size: Size) -> str:
    dtype = "float32" if isinstance(model, PlainModel) else model.dtype
    tables = ", ".join(f"{key} {value}" for key, value in size.tables.items())
    names = ", ".join(f"{j} {comment(text)}" for j, text in enumerate(plain.feature_names[:200]))
    more = ", ..." if plain.n_inputs > 200 else ""
    maths = "#include <math.h>\n" if plain.bias is not None else ""
    limits = "#include <float.h>\n" if isinstance(model, PlainModel) else ""
    numbers = f"{plain.n_prototypes} prototypes, {plain.n_inputs} inputs, {plain.n_classes} classes, {dtype}"
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
#define $_N_USED {plain.n_used}
#define $_N_PROTOTYPES {plain.n_prototypes}
#define $_N_CLASSES {plain.n_classes}

/* The place of each input in a row. */
enum {{
    {_places(plain.feature_names)}
}};
"""


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
    names = [string(str(label)) for label in plain.classes]
    width = max(len(str(label).encode("utf-8")) for label in plain.classes) + 1
    found = [f"static const char @_class_names[$_N_CLASSES][{width}] $_FLASH = {{{', '.join(names)}}};\n"]

    def add(label: str, kind: str, values: np.ndarray) -> None:
        found.append(table(f"@_{label}", kind, np.asarray(values), "$_FLASH"))

    add("class_ends", f"uint{8 * index_bytes(plain.n_prototypes)}_t", plain.class_ends)
    if plain.columns is not None:
        add("columns", f"uint{8 * index_bytes(plain.n_inputs - 1)}_t", plain.columns)
    if isinstance(model, PlainModel):
        kind = "float"
        for label, values in (("weights", plain.weights), ("maps", plain.maps), ("origin", plain.origin)):
            if values is not None:
                add(label, kind, values)
        if plain.bias is not None:
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


def _columns(plain: PlainModel) -> str:
    """x[j] of the j-th used input."""
    if plain.columns is None:
        return "x[j]"
    return f"x[$_READ_{8 * index_bytes(plain.n_inputs - 1)}(&@_columns[j])]"


def _slot(plain: PlainModel) -> str:
    return {"global": "0", "class": "c", "prototype": "i"}[plain.scope]


def _float_code(plain: PlainModel) -> str:
    x = _columns(plain)
    bias = "$_READ_FLOAT(&@_bias[i])" if plain.bias is not None else "0.0f"
    if plain.maps is not None:
        rank = plain.maps.shape[1]
        inner = f"""#define $_RANK {rank}

/* The row under map s. */
static inline void @_map(const float *x, uint16_t s, float *z)
{{
    uint16_t j, k;
    for (k = 0; k < $_RANK; k++)
        z[k] = 0.0f;
    for (j = 0; j < $_N_USED; j++) {{
        const float v = {x} - $_READ_FLOAT(&@_origin[j]);
        for (k = 0; k < $_RANK; k++)
            z[k] += v * $_READ_FLOAT(&@_maps[s][k][j]);
    }}
}}

/* Squared distance of a mapped row to prototype i. */
static inline float @_distance(const float *z, uint16_t i, uint16_t s)
{{
    float sum = {bias};
    uint16_t k;
    (void)s;
    for (k = 0; k < $_RANK; k++) {{
        const float v = z[k] - $_READ_FLOAT(&@_positions[i][k]);
        sum += v * v;
    }}
    return sum;
}}
"""
        buffer = "float z[$_RANK];"
    else:
        weight = "" if plain.weights is None else " * $_READ_FLOAT(&@_weights[s][j])"
        inner = f"""/* Squared distance of a row to prototype i, with the weights of slot s. */
static inline float @_distance(const float *x, uint16_t i, uint16_t s)
{{
    float sum = {bias};
    uint16_t j;
    (void)s;
    for (j = 0; j < $_N_USED; j++) {{
        const float v = {x} - $_READ_FLOAT(&@_positions[i][j]);
        sum += v * v{weight};
    }}
    return sum;
}}
"""
        buffer = ""
    value = "minus the logarithms of the components" if plain.bias is not None else "squared distances"
    return inner + _loops(plain, "const float *x", "float", buffer, value)


def _loops(plain: PlainModel, row: str, kind: str, buffer: str, value: str) -> str:
    """`distances` and `predict`: the prototypes class by class, so that the first class wins a tie."""
    ends = f"$_READ_{8 * index_bytes(plain.n_prototypes)}(&@_class_ends[c])"
    source = "z" if buffer else "x"
    maps = {"global": "", "class": "", "prototype": ""}
    if buffer:
        maps[plain.scope] = f"@_map(x, {_slot(plain)}, z);"
    declared = f"    {buffer}\n" if buffer else ""
    before = f"    {maps['global']}\n" if maps["global"] else ""
    by_class = f"        {maps['class']}\n" if maps["class"] else ""
    each = f"            {maps['prototype']}\n" if maps["prototype"] else ""
    loop = f"""    for (c = 0; c < $_N_CLASSES; c++) {{
        const uint16_t end = {ends};
{by_class}"""
    distances = f"""
/* The {value} of all prototypes, in the order of their classes. */
static inline void @_distances({row}, {kind} *distances)
{{
{declared}    uint16_t c, i = 0;
{before}{loop}        for (; i < end; i++) {{
{each}            distances[i] = @_distance({source}, i, {_slot(plain)});
        }}
    }}
}}
"""
    if plain.bias is not None:
        return distances + _mixture_predict(declared, before, loop, each, source, _slot(plain))
    # No distance of a row with NaN is below FLT_MAX. Integers are always in range, and need a first distance instead.
    is_float = kind == "float"
    first, nearer = ("FLT_MAX", "d < nearest") if is_float else ("0", "best == $_N_CLASSES || d < nearest")
    none = f", or\n   {_NO_CLASS}" if is_float else ""
    largest = "FLT_MAX" if is_float else f"({kind})-1"
    return f"""{distances}
/* The class of the nearest prototype, 0 to $_N_CLASSES - 1: an index of @_class_names{none}. */
static inline uint16_t @_predict({row})
{{
{declared}    {kind} nearest = {first};
    uint16_t c, i = 0, best = $_N_CLASSES;
{before}{loop}        for (; i < end; i++) {{
            {kind} d;
{each}            d = @_distance({source}, i, {_slot(plain)});
            if ({nearer}) {{
                nearest = d;
                best = c;
            }}
        }}
    }}
    return best;
}}

/* The same class, with the squared distances to the nearest prototype and to the nearest one of another class. */
static inline uint16_t @_nearest({row}, {kind} *own, {kind} *rival)
{{
{declared}    uint16_t c, i = 0, best = $_N_CLASSES;
{before}    *own = *rival = {largest};
{loop}        {kind} nearest = {largest};
        for (; i < end; i++) {{
            {kind} d;
{each}            d = @_distance({source}, i, {_slot(plain)});
            if (d < nearest)
                nearest = d;
        }}
        if (nearest < *own) {{
            *rival = *own;
            *own = nearest;
            best = c;
        }} else if (nearest < *rival) {{
            *rival = nearest;
        }}
    }}
    return best;
}}

/* (rival - own) / (rival + own): 0 on the border, 1 on a prototype. */
static inline float @_clearness({kind} own, {kind} rival)
{{
    const float ratio = rival > 0 ? (float)own / (float)rival : 1.0f;
    return (1.0f - ratio) / (1.0f + ratio);
}}

/* How clear the decision is, from 0 on the border to 1 on a prototype; 0 without a class. */
static inline float @_certainty({row})
{{
    {kind} own, rival;
    return @_nearest(x, &own, &rival) < $_N_CLASSES ? @_clearness(own, rival) : 0.0f;
}}

/* The class where its certainty is at least the threshold; $_N_CLASSES where somebody else has to decide. */
static inline uint16_t @_decide({row}, float threshold)
{{
    {kind} own, rival;
    const uint16_t best = @_nearest(x, &own, &rival);
    return best < $_N_CLASSES && @_clearness(own, rival) >= threshold ? best : $_N_CLASSES;
}}
{_radius(plain, declared, before, loop, source) if is_float and plain.has_radius else ""}"""


def _radius(plain: PlainModel, declared: str, before: str, loop: str, source: str) -> str:
    """The distance to the nearest of the planes that a shared metric puts between the nearest prototype and rivals."""
    one_each = plain.n_prototypes == plain.n_classes
    stated = "exact with one prototype a class" if one_each else "a lower bound where a class has several prototypes"
    difference = "$_READ_FLOAT(&@_positions[i][{0}]) - $_READ_FLOAT(&@_positions[best][{0}])"
    if plain.maps is not None:
        slope = f"""for (k = 0, v = 0.0f; k < $_RANK; k++)
                    v += $_READ_FLOAT(&@_maps[0][k][j]) * ({difference.format("k")});"""
    else:
        weight = "" if plain.weights is None else "$_READ_FLOAT(&@_weights[0][j]) * "
        slope = f"v = {weight}({difference.format('j')});"
    k = ", k" if plain.maps is not None else ""
    return f"""
/* The square root, without a library. */
static inline float @_root(float value)
{{
    float root = value > 1.0f ? value : 1.0f, next = 0.5f * (root + value / root);
    while (next < root) {{
        root = next;
        next = 0.5f * (root + value / root);
    }}
    return root;
}}

/* How far the row may move before its class can change: the Euclidean norm of the changes of its inputs, but for
   rounding; {stated}. 0 on a border and without a class. */
static inline float @_radius(const float *x)
{{
{declared}    float own = FLT_MAX, least = FLT_MAX;
    uint16_t c, i = 0, j{k}, best = 0, code = $_N_CLASSES;
{before}{loop}        for (; i < end; i++) {{
            const float d = @_distance({source}, i, 0);
            if (d < own) {{
                own = d;
                best = i;
                code = c;
            }}
        }}
    }}
    if (code == $_N_CLASSES)
        return 0.0f;
    i = 0;
{loop}        for (; i < end; i++) {{
            float gap, square = 0.0f, v;
            if (c == code)
                continue;
            gap = @_distance({source}, i, 0) - own;
            if (!(gap > 0.0f))
                return 0.0f;
            for (j = 0; j < $_N_USED; j++) {{
                {slope}
                square += v * v;
            }}
            if (gap * (gap / square) < least)
                least = gap * (gap / square);
        }}
    }}
    return 0.5f * @_root(least);
}}
"""


def _mixture_predict(declared: str, before: str, loop: str, each: str, source: str, slot: str) -> str:
    return f"""
/* The class with the largest P(c) P(x | c): an index of @_class_names, or
   {_NO_CLASS}. */
static inline uint16_t @_predict(const float *x)
{{
{declared}    float nearest = FLT_MAX;
    uint16_t c, i = 0, best = $_N_CLASSES;
{before}{loop}        if (i < end) {{
            /* sum of exp(low - d), with low the lowest d so far: never above the number of components. */
            float low = 0.0f, sum = 0.0f, d;
            const uint16_t start = i;
            for (; i < end; i++) {{
{each}                d = @_distance({source}, i, {slot});
                if (i == start || d < low) {{
                    sum = i == start ? 1.0f : sum * expf(d - low) + 1.0f;
                    low = d;
                }} else {{
                    sum += expf(low - d);
                }}
            }}
            d = low - logf(sum);
            if (d < nearest) {{
                nearest = d;
                best = c;
            }}
        }}
    }}
    return best;
}}
"""


def _integer_code(model: FixedPointModel) -> str:
    plain, kind, bits = model.plain, f"{model.dtype}_t", model.distance_bits
    read = "$_READ_8" if model.dtype == "int8" else "$_READ_16"
    sums, largest = model.bounds
    offset = float32(float(model.offset[0])) if model.offset.size == 1 else "$_READ_FLOAT(&@_offset[j])"
    factor = float32(float(model.factor[0])) if model.factor.size == 1 else "$_READ_FLOAT(&@_factor[j])"
    result = f"uint{bits}_t"
    top, row = model.row_top, f"{model.row_dtype}_t"
    code = f"""/* Fixed point: a distance of 1 stands for {model.unit:.6g}. Nothing overflows: inputs lie within
   +-{top}, so that a distance is at most {largest}, below 2^{bits}{_sums(model, sums)}. */
#define $_TOP {top}

/* An integer of a row. */
typedef {row} @_integer;

/* A row of $_N_INPUTS floats as the $_N_USED integers that predict takes: clipped to the range the scales were learned
   from, rounded to the nearest; what is no number becomes the lowest. */
static inline void @_quantize(const float *x, @_integer *q)
{{
    uint16_t j;
    for (j = 0; j < $_N_USED; j++) {{
        const float t = ({_columns(plain)} - {offset}) * {factor};
        if (!(t > -{top}.0f))
            q[j] = -{top};
        else if (t > {top}.0f)
            q[j] = {top};
        else
            q[j] = (@_integer)(t < 0.0f ? t - 0.5f : t + 0.5f);
    }}
}}
"""
    wide = "int64_t" if bits == 64 else "int32_t"
    if model.maps is not None:
        rank, limit = model.maps.shape[1], model.limit
        image = "int16_t" if model.dtype == "int8" else "int32_t"
        code += f"""
#define $_RANK {rank}

/* A row of integers under map s, on the grid of the prototypes and measured from their middle. */
static inline void @_map(const @_integer *x, uint16_t s, {image} *z)
{{
    uint16_t j, k;
    for (k = 0; k < $_RANK; k++) {{
        int{model.sum_bits}_t sum = 0;
        int64_t v;
        for (j = 0; j < $_N_USED; j++)
            sum += (int{model.sum_bits}_t)x[j] * ({kind}){read}(&@_maps[s][k][j]);
        v = (int64_t)sum * (int16_t)$_READ_16(&@_multipliers[s][k]);
        /* Rounded halves away from zero; a right shift of a negative number is not portable. */
        if (v < 0)
            v = -((-v + ((int64_t)1 << {model.shift - 1})) >> {model.shift});
        else
            v = (v + ((int64_t)1 << {model.shift - 1})) >> {model.shift};
        v += (int32_t)$_READ_32(&@_starts[s][k]);
        z[k] = ({image})(v < -(int64_t){limit} ? -(int64_t){limit} : v > {limit} ? {limit} : v);
    }}
}}

/* Squared distance of a mapped row to prototype i. */
static inline {result} @_distance(const {image} *z, uint16_t i, uint16_t s)
{{
    {result} sum = 0;
    uint16_t k;
    (void)s;
    for (k = 0; k < $_RANK; k++) {{
        const {wide} v = ({wide})z[k] - ({kind}){read}(&@_positions[i][k]);
        sum += ({result})(v * v);
    }}
    return sum;
}}
"""
        buffer = f"{image} z[$_RANK];"
    else:
        weight = "" if model.weights is None else " * $_READ_16(&@_weights[s][j])"
        code += f"""
/* Squared distance of a row of integers to prototype i, with the weights of slot s. */
static inline {result} @_distance(const @_integer *x, uint16_t i, uint16_t s)
{{
    {result} sum = 0;
    uint16_t j;
    (void)s;
    for (j = 0; j < $_N_USED; j++) {{
        const {wide} v = ({wide})x[j] - ({kind}){read}(&@_positions[i][j]);
        sum += ({result})(v * v){weight};
    }}
    return sum;
}}
"""
        buffer = ""
    return code + _loops(plain, "const @_integer *x", result, buffer, "squared distances")


def _sums(model: FixedPointModel, sums: int) -> str:
    if model.maps is None:
        return ""
    multiplier = int(np.abs(model.multiplier.astype(np.int64)).max())
    return (
        f";\n   a sum of a map is at most {sums}, below 2^{model.sum_bits - 1}, and times its multiplier at most "
        f"{sums * multiplier}, below 2^63"
    )

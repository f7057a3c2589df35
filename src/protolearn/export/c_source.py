"""The text of a C99 header that classifies as the model does."""

from __future__ import annotations

from collections import Counter

import numpy as np

from protolearn.export.c_text import comment, constant, float32, string, table, wrapped
from protolearn.export.fixed_point import FixedPointModel
from protolearn.export.plain import LEAST_SET_LOG, PlainModel, PlainSets
from protolearn.export.size import Size, index_bytes, model_size

_MOST_PROTOTYPES = 65535
_LEAST = float32(LEAST_SET_LOG)
_NO_CLASS = "$_N_CLASSES, no class, where an input that counts is NaN, infinite or too large to square"


Written = PlainModel | PlainSets | FixedPointModel


def header(model: Written, name: str) -> str:
    """The whole header; every name in it begins with `name`."""
    sets = _sets(model)
    if sum(one.n_prototypes for one in sets) > _MOST_PROTOTYPES or sets[0].n_inputs > _MOST_PROTOTYPES:
        raise ValueError(f"A C header holds at most {_MOST_PROTOTYPES} prototypes and features; reduce the model.")
    parts = [_opening(model, sets, model_size(model))]
    if any(one.encoding is not None and one.encoding.quantiles is not None for one in sets):
        parts.append(_NORMAL)
    if isinstance(model, PlainSets):
        parts += [_set_code(model, k) for k in range(len(sets))]
        parts.append(_mean_of_sets(model))
    else:
        parts += [_sizes(sets[0]), _tables(model, sets[0])]
        parts.append(_float_code(model) if isinstance(model, PlainModel) else _integer_code(model))
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


def _columns(plain: PlainModel) -> str:
    """x[j] of the j-th used input."""
    if plain.columns is None:
        return "x[j]"
    return f"x[$_READ_{8 * index_bytes(plain.n_inputs - 1)}(&@_columns[j])]"


def _slot(plain: PlainModel) -> str:
    return {"global": "0", "class": "c", "prototype": "i"}[plain.scope]


def _float_code(plain: PlainModel, share: float | None = None, temperature: float = 1.0) -> str:
    """The functions of a model in float32, or those of a set that counts with a share."""
    x = _columns(plain)
    bias = "$_READ_FLOAT(&@_bias[i])" if plain.bias is not None and plain.bias.any() else "0.0f"
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
    weighing = None if share is None else (share, temperature)
    return _encode(plain) + inner + _loops(plain, "const float *x", "float", buffer, value, weighing)


_NORMAL = """/* The quantile of the standard normal distribution at a share, from -3 to 3: Wichura (1988), AS 241. */
static inline float @_normal(float share)
{
    const float q = share - 0.5f, tail = share < 0.5f ? share : 1.0f - share;
    float r = 0.180625f - q * q;
    if (r >= 0.0f)
        return q * (((59.10937472f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f)
            / (((67.1875636f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f);
    if (tail < 0.00135f)
        return q < 0.0f ? -3.0f : 3.0f;
    r = sqrtf(-logf(tail)) - 1.6f;
    r = (((0.17023821103f * r + 1.3067284816f) * r + 2.75681539f) * r + 1.4234372777f)
        / ((0.12021132975f * r + 0.7370016425f) * r + 1.0f);
    return q < 0.0f ? -r : r;
}
"""


def _encode(plain: PlainModel) -> str:
    """The function that makes bins or normal scores of a row; v - v makes NaN of what is no finite number."""
    encoding = plain.encoding
    if encoding is None:
        return ""
    v = f"const float v = x[$_READ_{8 * index_bytes(plain.n_inputs - 1)}(&@_inputs[j])]"
    if encoding.quantiles is None:
        return f"""/* The bins of a row: how far each is filled, NaN where the input is no finite number. */
static inline void @_encode(const float *x, float *t)
{{
    uint16_t j;
    for (j = 0; j < $_N_USED; j++) {{
        {v};
        const float filled = (v - $_READ_FLOAT(&@_begin[j])) * $_READ_FLOAT(&@_rate[j]);
        t[j] = (filled < 0.0f ? 0.0f : filled > 1.0f ? 1.0f : filled) + (v - v);
    }}
}}

"""
    return f"""#define $_N_QUANTILES {encoding.quantiles.shape[1]}

/* The normal scores of a row: the rank of each input among its quantiles; NaN where it is no finite number. */
static inline void @_encode(const float *x, float *t)
{{
    uint16_t j, q, below, above;
    for (j = 0; j < $_N_USED; j++) {{
        {v};
        float rank;
        for (q = 0, below = 0, above = 0; q < $_N_QUANTILES; q++) {{
            const float quantile = $_READ_FLOAT(&@_quantiles[j][q]);
            below += quantile <= v;
            above += quantile < v;
        }}
        if (below > 0)
            below--;
        if (above == $_N_QUANTILES)
            above--;
        rank = 0.5f * (float)(below + above);
        if (above > below) {{
            const float start = $_READ_FLOAT(&@_quantiles[j][below]);
            rank = (float)below + (v - start) / ($_READ_FLOAT(&@_quantiles[j][above]) - start);
        }}
        t[j] = @_normal(rank / (float)($_N_QUANTILES - 1)) + (v - v);
    }}
}}

"""


def _loops(
    plain: PlainModel, row: str, kind: str, buffer: str, value: str, weighing: tuple[float, float] | None = None
) -> str:
    """`distances` and `predict`: the prototypes class by class, so that the first class wins a tie."""
    ends = f"$_READ_{8 * index_bytes(plain.n_prototypes)}(&@_class_ends[c])"
    features = "x" if plain.encoding is None else "t"
    source = "z" if buffer else features
    maps = {"global": "", "class": "", "prototype": ""}
    if buffer:
        maps[plain.scope] = f"@_map({features}, {_slot(plain)}, z);"
    declared = f"    {buffer}\n" if buffer else ""
    before = f"    {maps['global']}\n" if maps["global"] else ""
    if plain.encoding is not None:
        declared = f"    float t[$_N_USED];\n{declared}"
        before = f"    @_encode(x, t);\n{before}"
    by_class = f"        {maps['class']}\n" if maps["class"] else ""
    each = f"            {maps['prototype']}\n" if maps["prototype"] else ""
    loop = f"""    for (c = 0; c < $_N_CLASSES; c++) {{
        const uint16_t end = {ends};
{by_class}"""
    if weighing is not None:
        of_class = _nearest_of_class if plain.bias is None else _components
        text = f"{before}{loop}{of_class(each, source, _slot(plain))}        p[c] = d;\n    }}\n"
        return _share_of_set(plain, *weighing, declared, text)
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
{declared}    float nearest = FLT_MAX, d;
    uint16_t c, i = 0, best = $_N_CLASSES;
{before}{loop}{_components(each, source, slot)}        if (d < nearest) {{
            nearest = d;
            best = c;
        }}
    }}
    return best;
}}
"""


def _components(each: str, source: str, slot: str) -> str:
    """Sets d to minus the logarithm of the sum of exp(-distance) of the prototypes of class c."""
    return f"""        d = INFINITY;
        if (i < end) {{
            /* sum of exp(low - d), with low the lowest d so far: never above the number of components. */
            float low = 0.0f, sum = 0.0f;
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
        }}
"""


def _nearest_of_class(each: str, source: str, slot: str) -> str:
    """Sets d to the least distance of the prototypes of class c."""
    return f"""        d = INFINITY;
        for (; i < end; i++) {{
            float one;
{each}            one = @_distance({source}, i, {slot});
            if (one < d)
                d = one;
        }}
"""


def _set_code(model: PlainSets, k: int) -> str:
    """The tables and functions of one of several sets, under names of their own."""
    plain = model.sets[k]
    text = f"{_sizes(plain)}\n{_tables(plain, plain)}\n{_float_code(plain, model.shares[k], model.temperatures[k])}"
    text = text.replace("@_", f"@_set{k}_").replace("$_", f"$_SET{k}_").replace(f"@_set{k}_normal", "@_normal")
    for shared in ("READ_", "FLASH", "N_CLASSES"):
        text = text.replace(f"$_SET{k}_{shared}", f"$_{shared}")
    return text


# Distances as what the probabilities fall exponentially with; a class without prototypes stays infinitely far.
_SCORES = {
    "difference": "",
    "relative_sigmoid": """    for (c = 0; c < $_N_CLASSES; c++) {
        if (p[c] < low) {
            next = low;
            low = p[c];
        } else if (p[c] < next) {
            next = p[c];
        }
    }
    for (c = 0; c < $_N_CLASSES; c++)
        if (p[c] < INFINITY)
            p[c] = low + next > 0.0f ? p[c] / (low + next) : p[c] > 0.0f ? INFINITY : 0.5f;
    low = INFINITY;
""",
    "relative": """    for (c = 0; c < $_N_CLASSES; c++)
        p[c] = logf(p[c] > FLT_MIN ? p[c] : FLT_MIN);
""",
}


def _share_of_set(plain: PlainModel, share: float, temperature: float, declared: str, before: str) -> str:
    """The function that adds the probabilities of a set; `before` sets p to the distances of the classes."""
    link = "difference" if plain.bias is not None else "relative" if plain.link == "power" else plain.link
    slope = {"relative": 1.0, "power": plain.slope / 2.0}.get(plain.link, plain.slope) if plain.bias is None else 1.0
    following = ", next = INFINITY" if link == "relative_sigmoid" else ""
    return f"""
/* Adds the probabilities of the classes by this set, to the power of its temperature, times its share. */
static inline void @_add(const float *x, float *sum)
{{
{declared}    float p[$_N_CLASSES], low = INFINITY, total = 0.0f, d{following};
    uint16_t c, i = 0;
{before}{_SCORES[link]}    for (c = 0; c < $_N_CLASSES; c++)
        if (p[c] < low)
            low = p[c];
    for (c = 0; c < $_N_CLASSES; c++)
        total += expf({float32(slope)} * (low - p[c]));
    d = logf(total);
    total = 0.0f;
    for (c = 0; c < $_N_CLASSES; c++) {{
        const float logarithm = {float32(slope)} * (low - p[c]) - d;
        p[c] = expf({float32(temperature)} * (logarithm < {_LEAST} ? {_LEAST} : logarithm));
        total += p[c];
    }}
    for (c = 0; c < $_N_CLASSES; c++)
        sum[c] += {float32(share)} * p[c] / total;
}}
"""


def _mean_of_sets(model: PlainSets) -> str:
    adding = "\n".join(f"    @_set{k}_add(x, probabilities);" for k in range(len(model.sets)))
    return f"""/* The probability of each class, the mean over the sets; NaN where an input that counts is NaN,
   infinite or too large to square. */
static inline void @_probabilities(const float *x, float *probabilities)
{{
    uint16_t c;
    for (c = 0; c < $_N_CLASSES; c++)
        probabilities[c] = 0.0f;
{adding}
}}

/* The most probable class: an index of @_class_names, or
   {_NO_CLASS}. */
static inline uint16_t @_predict(const float *x)
{{
    float p[$_N_CLASSES], most = 0.0f;
    uint16_t c, best = $_N_CLASSES;
    @_probabilities(x, p);
    for (c = 0; c < $_N_CLASSES; c++)
        if (p[c] > most) {{
            most = p[c];
            best = c;
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

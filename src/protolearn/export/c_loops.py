"""The C loops over prototypes: the nearest, certainty, decision and radius, whatever the number type."""

from __future__ import annotations

import numpy as np

from protolearn.export.c_sets import share_of_set
from protolearn.export.c_text import NO_CLASS
from protolearn.export.plain import PlainModel
from protolearn.export.size import index_bytes


def columns(plain: PlainModel) -> str:
    """x[j] of the j-th used input."""
    if plain.columns is None:
        return "x[j]"
    return f"x[$_READ_{8 * index_bytes(plain.n_inputs - 1)}(&@_columns[j])]"


def slot_of(plain: PlainModel) -> str:
    """The row of the metric's parameters that prototype i of class c uses."""
    return {"global": "0", "class": "c", "prototype": "i"}[plain.scope]


def loops(
    plain: PlainModel, row: str, kind: str, buffer: str, value: str, weighing: tuple[float, float] | None = None
) -> str:
    """`distances` and `predict`: the prototypes class by class, so that the first class wins a tie."""
    ends = f"$_READ_{8 * index_bytes(plain.n_prototypes)}(&@_class_ends[c])"
    features = "x" if plain.encoding is None else "t"
    source = "z" if buffer else features
    maps = {"global": "", "class": "", "prototype": ""}
    if buffer:
        maps[plain.scope] = f"@_map({features}, {slot_of(plain)}, z);"
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
        text = f"{before}{loop}{of_class(each, source, slot_of(plain))}        p[c] = d;\n    }}\n"
        return share_of_set(plain, *weighing, declared, text)
    distances = f"""
/* The {value} of all prototypes, in the order of their classes. */
static inline void @_distances({row}, {kind} *distances)
{{
{declared}    uint16_t c, i = 0;
{before}{loop}        for (; i < end; i++) {{
{each}            distances[i] = @_distance({source}, i, {slot_of(plain)});
        }}
    }}
}}
"""
    if plain.bias is not None:
        return distances + _mixture_predict(declared, before, loop, each, source, slot_of(plain))
    # No distance of a row with NaN is below FLT_MAX. Integers are always in range, and need a first distance instead.
    is_float = kind == "float"
    first, nearer = ("FLT_MAX", "d < nearest") if is_float else ("0", "best == $_N_CLASSES || d < nearest")
    none = f", or\n   {NO_CLASS}" if is_float else ""
    largest = "FLT_MAX" if is_float else f"({kind})-1"
    return f"""{distances}
/* The class of the nearest prototype, 0 to $_N_CLASSES - 1: an index of @_class_names{none}. */
static inline uint16_t @_predict({row})
{{
{declared}    {kind} nearest = {first};
    uint16_t c, i = 0, best = $_N_CLASSES;
{before}{loop}        for (; i < end; i++) {{
            {kind} d;
{each}            d = @_distance({source}, i, {slot_of(plain)});
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
{each}            d = @_distance({source}, i, {slot_of(plain)});
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
    one_each = np.bincount(plain.labels).max() == 1
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
   {NO_CLASS}. */
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

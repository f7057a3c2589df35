"""The C of several prototype sets: the share of a set, and the mean of their probabilities."""

from __future__ import annotations

from protolearn.export.c_text import NO_CLASS, float32
from protolearn.export.plain import LEAST_SET_LOG, PlainModel, PlainSets

_LEAST = float32(LEAST_SET_LOG)


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


def share_of_set(plain: PlainModel, share: float, temperature: float, declared: str, before: str) -> str:
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


def mean_of_sets(model: PlainSets) -> str:
    """`probabilities` and `predict` of several sets."""
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
   {NO_CLASS}. */
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

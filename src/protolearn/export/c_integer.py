"""The C of an int8 or int16 model: quantised rows and integer distances."""

from __future__ import annotations

import numpy as np

from protolearn.export.c_loops import columns, loops
from protolearn.export.c_text import float32
from protolearn.export.fixed_point import FixedPointModel


def integer_code(model: FixedPointModel) -> str:
    """All functions of an integer model."""
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
        const float t = ({columns(plain)} - {offset}) * {factor};
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
    return code + loops(plain, "const @_integer *x", result, buffer, "squared distances")


def _sums(model: FixedPointModel, sums: int) -> str:
    if model.maps is None:
        return ""
    multiplier = int(np.abs(model.multiplier.astype(np.int64)).max())
    return (
        f";\n   a sum of a map is at most {sums}, below 2^{model.sum_bits - 1}, and times its multiplier at most "
        f"{sums * multiplier}, below 2^63"
    )

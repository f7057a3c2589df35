"""The C of a float32 model: encoded columns and squared distances."""

from __future__ import annotations

from protolearn.export.c_loops import columns, loops
from protolearn.export.plain import PlainModel
from protolearn.export.size import index_bytes


def float_code(plain: PlainModel, share: float | None = None, temperature: float = 1.0) -> str:
    """The functions of a model in float32, or those of a set that counts with a share."""
    x = columns(plain)
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
    return _encode(plain) + inner + loops(plain, "const float *x", "float", buffer, value, weighing)


NORMAL = """/* The quantile of the standard normal distribution at a share, from -3 to 3: Wichura (1988), AS 241. */
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

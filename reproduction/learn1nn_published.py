"""Test errors % printed in Tables 2 and 3 of Bermejo's chapter on learn1NN."""

from __future__ import annotations

# Table 2, lower case: number of prototypes -> mean and standard deviation; its LVQ2 is LVQ_PAK's, which is LVQ2.1.
LETTERS = {
    100: {"LVQ1": (25.02, 0.53), "LVQ2.1": (21.5, 1.36), "LVQ3": (22.29, 1.15), "learn1NN": (19.14, 0.98)},
    200: {"LVQ1": (20.28, 0.81), "LVQ2.1": (17.15, 0.63), "LVQ3": (18.39, 1.25), "learn1NN": (16.67, 1.03)},
    400: {"LVQ1": (17.19, 0.36), "LVQ2.1": (15.14, 0.48), "LVQ3": (15.54, 0.48), "learn1NN": (14.52, 0.28)},
    800: {"LVQ1": (15.76, 0.37), "LVQ2.1": (14.03, 0.35), "LVQ3": (14.43, 0.3), "learn1NN": (13.32, 0.43)},
}
# Table 3: number of prototypes -> mean, standard deviation, max and min. The column headed "Variance" holds standard
# deviations.
RIPLEY = {
    "learn1NN": {
        2: (10.908, 0.489, 11.7, 10.2), 4: (9.327, 0.3278, 11.2, 8.5), 6: (9.212, 0.2066, 9.6, 8.6),
        8: (9.163, 0.2236, 9.6, 8.4), 16: (8.846, 0.2607, 9.6, 8.3), 32: (8.764, 0.2456, 9.5, 8.2),
        64: (8.93, 0.4694, 10.6, 8.3),
    },
    "LVQ1": {
        2: (27.963, 0.058, 28.1, 27.8), 4: (8.801, 0.01, 8.9, 8.8), 6: (9.363, 0.598, 11.0, 8.4),
        8: (9.694, 1.0, 16.4, 8.2), 16: (10.197, 1.57, 16.6, 8.2), 32: (11.503, 1.795, 16.2, 9.3),
        64: (12.3, 1.521, 15.7, 9.9),
    },
}  # fmt: skip

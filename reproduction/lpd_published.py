"""Error % printed in Tables 1 to 3 of Paredes and Vidal (2006), by our names of the data sets."""

from __future__ import annotations

TITLES = {
    "australian": "Australian", "balance": "Balance", "breast": "Cancer", "pima": "Diabetes", "dna": "DNA",
    "german": "German", "glass": "Glass", "heart": "Heart", "letter": "Letter", "liver": "Liver",
    "satimage": "Satimage", "vehicle": "Vehicle", "vote": "Vote", "wine": "Wine",
}  # fmt: skip
# L2, CDVW, LPD (Table 1), LVQ1, LVQ2, LVQ3 and, for two classes, the SVMs (Table 2).
_PRINTED: dict[str, tuple[float, ...]] = {
    "australian": (30.5, 18.4, 13.9, 33.3, 34.0, 31.1, 35.0, 36.1, 44.5),
    "balance": (41.2, 32.1, 16.3, 16.3, 14.7, 16.3),
    "breast": (3.1, 9.8, 3.4, 4.4, 4.5, 4.2, 3.1, 4.4, 17.4),
    "pima": (40.8, 32.6, 26.0, 26.4, 25.8, 26.0, 24.3, 24.1, 34.9),
    "dna": (29.0, 12.8, 4.9, 9.8, 12.1, 21.6),
    "german": (27.1, 32.1, 26.0, 30.1, 28.5, 28.7, 30.0, 29.2, 30.0),
    "glass": (28.6, 34.1, 28.0, 39.6, 42.4, 41.5),
    "heart": (45.5, 24.1, 18.6, 36.0, 34.0, 34.0, 39.2, 34.5, 44.4),
    "letter": (4.2, 7.0, 3.5, 12.0, 10.3, 10.5),
    "liver": (35.6, 38.0, 33.3, 32.5, 32.7, 33.6, 31.9, 42.0, 40.8),
    "satimage": (11.2, 15.5, 10.6, 11.7, 11.1, 11.1),
    "vehicle": (29.1, 31.6, 27.4, 38.2, 32.0, 34.4),
    "vote": (9.9, 7.1, 3.7, 7.6, 6.2, 5.7, 5.0, 5.3, 16.1),
    "wine": (17.5, 1.2, 5.0, 29.7, 25.8, 29.2),
}
_METHODS = ("L2", "CDVW", "LPD", "LVQ1", "LVQ2", "LVQ3", "SVM1", "SVM2", "SVM3")
ERRORS = {name: dict(zip(_METHODS, values, strict=False)) for name, values in _PRINTED.items()}
TWO_CLASSES = tuple(name for name, values in _PRINTED.items() if len(values) == len(_METHODS))
# Table 3, BANCA protocol P: false acceptance, false rejection, least half total error rate.
FACES = {
    "Euclidean distance": (27.2, 26.4, 26.8),
    "normalised correlation": (26.6, 26.6, 26.6),
    "linear SVM": (4.9, 27.7, 16.3),
    "LPD": (10.3, 16.5, 13.4),
}
# The text of 3.1: error % of the starts with 2, 4, 6 and 8 prototypes.
INITIAL_ERRORS = {2: 26.6, 4: 21.5, 6: 17.6, 8: 15.1}

"""
A classifier for a microcontroller
==================================

:func:`protolearn.auto.shrink` finds the best model within a number of bytes, and
:func:`protolearn.export.export_c` writes it as a C99 header: no library, no allocation.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from protolearn import GMLVQ
from protolearn.auto import shrink
from protolearn.export import export_c

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)

budgets = [256, 512, 1024, 2048]
models = [
    shrink(
        GMLVQ(max_iter=10, random_state=0), X, y, max_bytes=budget, dtypes=("int8",), random_state=0
    )
    for budget in budgets
]
accuracies = [np.mean(model.exported.predict(X_test) == y_test) for model in models]
for model, accuracy in zip(models, accuracies, strict=True):
    print(f"{model.n_bytes:5} bytes: {accuracy:.1%} right on the test digits")

# %%
# The head of the smallest header, and the functions in it:

header = Path(tempfile.mkdtemp()) / "digits.h"
export_c(models[0].exported, header)
lines = header.read_text().splitlines()
print(
    "\n".join([*lines[:14], "...", *(line for line in lines if line.startswith("static inline"))])
)

figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
ax.plot(
    [model.n_bytes for model in models],
    accuracies,
    "o-",
    color="#2f6fb7",
    label="GMLVQ, shrunk to int8",
)
whole = GMLVQ(random_state=0).fit(X, y)
size = (whole.prototypes_.nbytes + whole.omega_.nbytes) / 1000
ax.axhline(whole.score(X_test, y_test), color="#8a94a6", label=f"GMLVQ, float64, {size:.0f} kB")
ax.set(xscale="log", xlabel="bytes of tables", ylabel="right on the test digits")
ax.set_xticks(budgets, budgets)
ax.minorticks_off()
ax.legend()
plt.show()

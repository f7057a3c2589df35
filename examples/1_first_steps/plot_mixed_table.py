"""
Categories and missing values
=============================

:class:`protolearn.tables.Preparation` turns a table of numbers, texts and gaps into features that a distance can use.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from protolearn import LOGM
from protolearn.explain import explain
from protolearn.tables import Preparation

# %%
# A made-up table of 600 customers: two columns of numbers, one of texts, some values missing.

rng = np.random.default_rng(0)
bought = rng.random(600) < 0.45
table = pd.DataFrame(
    {
        "age": (38 + 9 * bought + rng.normal(0, 9, 600)).round(),
        "income": np.where(
            rng.random(600) < 0.1, np.nan, rng.lognormal(10 + 0.4 * bought, 0.4).round()
        ),
        "job": np.where(
            rng.random(600) < 0.6,
            np.where(bought, "office", "field"),
            rng.choice(["shop", "field"], 600),
        ),
    }
)
table.loc[rng.random(600) < 0.05, "job"] = None
answer = np.where(bought, "yes", "no")
print(table.head())

# %%
# The model takes raw rows, and explains its decisions in the columns of the table.

rows, test_rows, answers, test_answers = train_test_split(
    table, answer, stratify=answer, random_state=0
)
model = make_pipeline(Preparation(), LOGM(random_state=0)).fit(rows, answers)
print("right on the test rows:", round(model.score(test_rows, test_answers), 3))

decision = explain(model, test_rows.iloc[[0]])[0]
names = [part.column for part in decision.contributions]
sizes = [part.contribution for part in decision.contributions]
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(
    names[::-1], sizes[::-1], color=["#2f6fb7" if size > 0 else "#e07b39" for size in sizes[::-1]]
)
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    title=f"Why {decision.prediction!r}: what each column adds",
    xlabel="how much further the rival is",
)
plt.show()

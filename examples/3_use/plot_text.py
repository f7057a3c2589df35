"""
Text: sort documentation by its words
=====================================

The texts are docstrings of functions of NumPy, SciPy and scikit-learn; the model tells which library a text is from.
LOGM takes the sparse matrix of the vectorizer as it is, and the prototypes show the words that decide.
"""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.stats
import sklearn.cluster
import sklearn.linear_model
import sklearn.metrics
import sklearn.preprocessing
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from protolearn import LOGM

MODULES = {
    "NumPy": [np, np.linalg, np.random, np.fft],
    "SciPy": [scipy.linalg, scipy.ndimage, scipy.optimize, scipy.signal, scipy.stats],
    "scikit-learn": [sklearn.cluster, sklearn.linear_model, sklearn.metrics, sklearn.preprocessing],
}
texts, labels = [], []
for library, modules in MODULES.items():
    found = {
        inspect.getdoc(getattr(module, name))
        for module in modules
        for name in dir(module)
        if name[0] != "_"
    }
    found = sorted(text.split("Examples\n---")[0] for text in found if text and len(text) > 400)[
        :150
    ]
    texts += found
    labels += [library] * len(found)
X, X_test, y, y_test = train_test_split(texts, labels, stratify=labels, random_state=0)

words = TfidfVectorizer(
    stop_words=["sklearn", "scikit", "numpy", "scipy", "np"],
    token_pattern=r"[a-z_]{3,}",
    max_features=3000,
)
model = make_pipeline(words, LOGM(n_prototypes=2, solver="lbfgs", random_state=0)).fit(X, y)
print(f"{len(texts)} texts, {model.score(X_test, y_test):.1%} right on the test texts")

# %%
# A prototype is a list of words with weights. Compared with the mean of the others, its heaviest words say what it
# stands for.

names = words.get_feature_names_out()
logm = model[-1]
figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
for ax, library in zip(axes, logm.classes_, strict=True):
    own = logm.prototypes_[logm.prototype_labels_ == library].mean(axis=0)
    other = logm.prototypes_[logm.prototype_labels_ != library].mean(axis=0)
    best = np.argsort(own - other)[-9:]
    ax.barh(names[best], (own - other)[best], color="#2f6fb7")
    ax.set_title(library)
plt.show()

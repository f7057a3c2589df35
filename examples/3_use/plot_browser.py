"""
A classifier in this page
=========================

:func:`protolearn.export.module_source` writes a model as JavaScript. The model below runs in your browser; no server
is asked. Draw a digit: each click fills or clears a cell.
"""

import json

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from protolearn import GMLVQ
from protolearn.export import module_source
from protolearn.report import plot_prototypes

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
model = GMLVQ(n_prototypes=2, n_components=20, random_state=0).fit(X, y)
source = module_source(model)
print(
    f"{model.score(X_test, y_test):.1%} right on the test digits, {len(source) // 1000} kB of JavaScript"
)

# sphinx_gallery_start_ignore
SCRIPT = """
const board = document.getElementById("digit-board"), answer = document.getElementById("digit-answer");
const samples = JSON.parse(board.dataset.samples);
let row = new Array(64).fill(0), next = 0;
board.innerHTML = row.map((_, i) => `<button type="button" aria-label="cell ${i}"></button>`).join("");
function show() {
  [...board.children].forEach((cell, i) => { cell.style.background = `rgb(${Array(3).fill(255 - 15 * row[i])})`; });
  if (!row.some((v) => v)) { answer.textContent = "Draw a digit."; return; }
  const p = probabilities(row), best = p.indexOf(Math.max(...p));
  answer.textContent = `Predicted: ${predict(row)} (probability ${p[best].toFixed(2)})`;
}
board.addEventListener("click", (event) => {
  const i = [...board.children].indexOf(event.target);
  if (i >= 0) { row[i] = row[i] ? 0 : 16; show(); }
});
document.getElementById("digit-sample").onclick = () => { row = samples[next++ % samples.length].slice(); show(); };
document.getElementById("digit-clear").onclick = () => { row.fill(0); show(); };
show();
"""
STYLE = """
#digit-board { display: grid; grid-template-columns: repeat(8, 28px); gap: 1px; width: max-content;
  background: #8a94a6; border: 1px solid #8a94a6 }
#digit-board button { width: 28px; height: 28px; border: 0; padding: 0 }
#digit-answer { font-size: 1.3em; margin: .6em 0 }
"""


class Page:
    """Shown by notebooks, and by this site, as HTML."""

    def _repr_html_(self):
        samples = json.dumps(X_test[:12].astype(int).tolist())
        return f"""<style>{STYLE}</style>
<div id="digit-board" data-samples="{samples}"></div><p id="digit-answer" aria-live="polite"></p>
<button type="button" id="digit-sample">A digit of the test set</button>
<button type="button" id="digit-clear">Clear</button>
<script type="module">{source}{SCRIPT}</script>"""


# sphinx_gallery_end_ignore
Page()

# %%
# The board is 8 x 8 buttons, and a few lines of JavaScript hand their values to ``probabilities``; the program that you
# can download below has them. The prototypes that the page compares your drawing with:

plot_prototypes(model)

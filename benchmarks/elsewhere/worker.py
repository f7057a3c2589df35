"""Runs one library on one data set when it is asked, in whatever environment has that library.

    python worker.py '{"library": "sklvq", "model": "GLVQ", "data": "digits.npz", ...}'

A line of JSON on the standard input asks for one fit or one prediction, a line on the standard output answers with its
seconds: {"do": "fit", "epochs": 30} or {"do": "predict"}; {"do": "load"} loads what they need. With {"seconds": 0.5}
fits are repeated for so long, and the means of their times and of their accuracies are the answer. The file holds X, y,
X_test, y_test, and W with its labels L, the start that every library gets which takes one. Needs numpy and the library,
nothing of ours, and old versions do.
"""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

BATCH = 128


class Data:
    """The arrays of a job, in its number type, and as many rows as it wants."""

    def __init__(self, job):
        with np.load(job["data"]) as stored:
            arrays = {name: stored[name] for name in stored.files}
        rows = job.get("rows")
        dtype = job.get("dtype", "float64")
        self.X, self.X_test, self.W = (arrays[name].astype(dtype) for name in ("X", "X_test", "W"))
        self.y, self.y_test, self.L = (arrays[name].astype(np.int64) for name in ("y", "y_test", "L"))
        if rows:
            self.X, self.y = self.X[:rows], self.y[:rows]
        self.n_classes = int(self.L.max()) + 1
        self.per_class = len(self.L) // self.n_classes


def _predict(model, X):
    return model.predict(X)


def ours(job, data):
    """Our classifier, from the given start."""
    import protolearn

    if job["model"] == "NearestPrototype":
        return (lambda epochs: protolearn.NearestPrototype(init=(data.W, data.L)).fit(data.X, data.y)), _predict
    if job["model"] == "projected":
        map_by = np.random.default_rng(1).standard_normal((data.W.shape[1],) * 2).astype(data.W.dtype)
        model = protolearn.NearestPrototype(init=(data.W @ map_by.T, data.L))
        return (lambda epochs: model.fit(data.X @ map_by.T, data.y)), (lambda model, X: model.predict(X @ map_by.T))

    settings = job.get("settings", {})
    # A new order of the rows each time, as R draws anew.
    seeds = iter(range(1 << 30))

    def fit(epochs):
        return getattr(protolearn, job["model"])(
            data.per_class, init=(data.W, data.L), max_iter=epochs, random_state=next(seeds), **settings
        ).fit(data.X, data.y)

    return fit, _predict


def sklvq(job, data):
    """sklvq starts from class means: its GLVQ takes no start. Lists of step sizes must be arrays."""
    import sklvq.models

    def fit(epochs):
        if job["solver"] == "sgd":
            step = job["step"]
            step = np.array(step) if isinstance(step, list) else step
            solver = {"max_runs": epochs, "batch_size": BATCH, "step_size": step}
        else:
            solver = {"options": {"maxiter": epochs}}
        model = getattr(sklvq.models, job["model"])(
            solver_type=job["solver"],
            solver_params=solver,
            prototype_n_per_class=data.per_class,
            activation_type="sigmoid",
            activation_params={"beta": 2},
            random_state=0,
            **job.get("settings", {}),
        )
        return model.fit(data.X, data.y)

    def place(model):
        model.prototypes_, model.prototypes_labels_ = data.W, data.L
        if hasattr(model, "omega_"):
            model.omega_ = np.eye(data.X.shape[1])

    fit.place = place
    return fit, _predict


def imported_sklearn_lvq():
    """sklearn-lvq uses names that numpy dropped, and hands scipy a start of two dimensions."""
    import scipy.optimize

    for name, value in (("int", int), ("float", float), ("math", math)):
        if name not in vars(np):
            setattr(np, name, value)
    minimize = scipy.optimize.minimize
    scipy.optimize.minimize = lambda fun, x0, *rest, **more: minimize(fun, np.ravel(x0), *rest, **more)
    import sklearn_lvq

    return sklearn_lvq


def sklearn_lvq(job, data):
    """sklearn-lvq by L-BFGS."""
    library = imported_sklearn_lvq()

    def fit(epochs):
        model = getattr(library, job["model"])(
            prototypes_per_class=data.per_class,
            max_iter=epochs,
            random_state=0,
            initial_prototypes=np.c_[data.W, data.L],
            **job.get("settings", {}),
        )
        return model.fit(data.X, data.y)

    def place(model):
        model.w_, model.c_w_ = data.W, data.L
        if hasattr(model, "omega_"):
            model.omega_ = np.eye(data.X.shape[1])

    fit.place = place
    return fit, _predict


_DEFINED = []


def imported_prototorch():
    """prototorch with its models.

    It imports torchvision, whose usual build does not load beside a torch without CUDA, for want of two operators that
    nothing here calls: declared, they are enough.
    """
    import torch

    try:
        import torchvision  # noqa: F401
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        _DEFINED.append(torch.library.Library("torchvision", "DEF"))
        for name in ("nms", "qnms"):
            _DEFINED[0].define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import prototorch
    import prototorch.models

    return prototorch


def prototorch(job, data):
    """prototorch by Adam, squared distances: its roots give NaN where a prototype sits on a sample."""
    import logging

    pt = imported_prototorch()
    import pytorch_lightning as lightning
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    for name in ("pytorch_lightning", "lightning.pytorch", "lightning", "lightning_fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # A little off the start, against infinite gradients of roots.
    start = data.W + 1e-3 * np.random.RandomState(0).randn(*data.W.shape)
    d = data.X.shape[1]
    # Where the maps start: the identity, or with fewer dimensions the leading principal axes, as ours do.
    n_components = job.get("settings", {}).get("latent_dim", d)
    axes = np.eye(d) if n_components == d else np.linalg.eigh(np.cov(data.X.T))[1][:, : -n_components - 1 : -1]
    axes = np.ascontiguousarray(axes, dtype=np.float32)
    samples = torch.utils.data.TensorDataset(torch.tensor(data.X, dtype=torch.float32), torch.tensor(data.y))

    def made():
        settings = {
            "distribution": {"num_classes": data.n_classes, "per_class": data.per_class},
            "lr": 0.01,
            "input_dim": d,
            "latent_dim": d,
            **job.get("settings", {}),
        }
        place = pt.initializers.LiteralCompInitializer(torch.tensor(start, dtype=torch.float32))
        more = {}
        if job["model"] == "GLVQ":
            from prototorch.core.distances import squared_euclidean_distance

            more["distance_fn"] = squared_euclidean_distance
        model = getattr(pt.models, job["model"])(
            settings, optimizer=torch.optim.Adam, prototypes_initializer=place, **more
        )
        if job["model"] == "LGMLVQ":
            # It starts from random maps; every other library starts from the identity.
            model._omega.data = torch.tensor(axes).repeat(len(start), 1, 1)
        elif settings["latent_dim"] < d:
            model._omega.data = torch.tensor(axes)
        return model

    def fit(epochs):
        torch.manual_seed(0)
        loader = torch.utils.data.DataLoader(samples, batch_size=BATCH, shuffle=True)
        model = made()
        lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", devices=1, enable_progress_bar=False, logger=False,
            enable_checkpointing=False, enable_model_summary=False,
        ).fit(model, loader)  # fmt: skip
        return model.eval()

    def predict(model, X):
        with torch.no_grad():
            return model.predict(torch.tensor(X, dtype=torch.float32)).numpy()

    fit.untrained = lambda: made().eval()
    return fit, predict


_R = """
suppressMessages(library(class)); folder <- "{folder}"
reals <- function(name, rows) matrix(readBin(file.path(folder, name), "double", rows * {d}), rows, {d})
codes <- function(name, rows) factor(readBin(file.path(folder, name), "integer", rows, size = 4))
X <- reals("X", {n}); y <- codes("y", {n})
start <- list(x = reals("W", {m}), cl = codes("L", {m}))
seconds <- system.time(found <- {model}(X, y, start, niter = {epochs} * {n}{settings}))[3]
answers <- lvqtest(found, reals("X_test", {n_test}))
writeBin(as.integer(as.character(answers)), file.path(folder, "answers"), size = 4)
cat(seconds, as.character(packageVersion("class")))
"""


def r_class(job, data):
    """R's package class; its seconds are those that R measures around the call, without its start."""
    if shutil.which("Rscript") is None:
        raise RuntimeError("Rscript is not installed")
    # Beside the data, which goes with the run: a worker that is stopped cannot clean up.
    folder = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(job["data"])))
    for name in ("X", "X_test", "W"):
        getattr(data, name).astype(np.float64).ravel(order="F").tofile(os.path.join(folder, name))
    for name in ("y", "L"):
        getattr(data, name).astype(np.int32).tofile(os.path.join(folder, name))

    def fit(epochs):
        text = _R.format(
            folder=folder, d=data.X.shape[1], n=len(data.X), m=len(data.W), n_test=len(data.X_test), epochs=epochs,
            model=job["model"], settings="".join(f", {name} = {value}" for name, value in job["settings"].items()),
        )  # fmt: skip
        done = subprocess.run(["Rscript", "-e", text], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError((done.stderr.strip() or "Rscript failed").splitlines()[-1])
        answers = np.fromfile(os.path.join(folder, "answers"), dtype=np.int32)
        seconds, version = done.stdout.split()[-2:]
        return {"seconds": float(seconds), "version": version, "answers": answers}

    return fit, lambda model, X: model["answers"]


def faiss(job, data):
    """faiss's exact search; a threads setting of its own."""
    import faiss as library

    library.omp_set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))

    def fit(epochs):
        index = library.IndexFlatL2(data.W.shape[1])
        index.add(np.ascontiguousarray(data.W, dtype=np.float32))
        return index

    return fit, lambda index, X: data.L[index.search(X, 1)[1].ravel()]


def argmin(job, data):
    """scikit-learn's pairwise_distances_argmin."""
    from sklearn.metrics import pairwise_distances_argmin

    return (lambda epochs: None), (lambda model, X: data.L[pairwise_distances_argmin(X, data.W)])


LIBRARIES = {
    "protolearn": ours,
    "sklvq": sklvq,
    "sklearn-lvq": sklearn_lvq,
    "prototorch": prototorch,
    "R class": r_class,
    "faiss": faiss,
    "scikit-learn": argmin,
}


def answers(job):
    """A function that takes a request and answers it; what it needs is kept between requests."""
    data = Data(job)
    fit, predict = LIBRARIES[job["library"]](job, data)
    kept = {}

    def of_fit(request):
        # A fit of 40 ms alone measures how cold the caches are when other processes have run for a while.
        times, right = [], []
        while not times or sum(times) < request.get("seconds", 0.0):
            begin = time.perf_counter()
            model = fit(request["epochs"])
            told = model if isinstance(model, dict) else {"seconds": time.perf_counter() - begin}
            times.append(told["seconds"])
            right.append(np.mean(np.asarray(predict(model, data.X_test)).ravel() == data.y_test))
        told = {"version": told["version"]} if "version" in told else {}
        epochs = getattr(model, "n_iter_", None)
        epochs = int(np.max(epochs)) if epochs is not None else request["epochs"]
        mean = {"seconds": float(np.mean(times)), "accuracy": float(np.mean(right))}
        return {**mean, "epochs": max(1, epochs), **told}

    def of_predict(request):
        if "model" not in kept:
            kept["model"] = fit.untrained() if hasattr(fit, "untrained") else fit(1)
            if hasattr(fit, "place"):
                fit.place(kept["model"])
        begin = time.perf_counter()
        found = predict(kept["model"], data.X_test)
        seconds = time.perf_counter() - begin
        same = float((np.asarray(found).ravel() == data.y_test).mean())
        return {"seconds": seconds, "rows": len(data.X_test), "same": same}

    ways = {"load": lambda request: {}, "fit": of_fit, "predict": of_predict}
    return lambda request: ways[request["do"]](request)


def main():
    """Answer requests until there are no more."""
    # What libraries print must not stand between the answers.
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.filterwarnings("ignore")
    answer = None
    for line in sys.stdin:
        try:
            if answer is None:
                answer = answers(json.loads(sys.argv[1]))
            found = answer(json.loads(line))
        except Exception as error:
            text = " ".join(str(error).split())[:200]
            found = {"error": f"{type(error).__name__}: {text}" if text else type(error).__name__}
        channel.write(json.dumps(found) + "\n")
        channel.flush()


if __name__ == "__main__":
    main()

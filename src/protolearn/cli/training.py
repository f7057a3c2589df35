"""What `fit` learns from, and how: a table in two parts, and a learner that chooses everything or the method named."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import islice
from typing import Any

import protolearn
from protolearn.cli import JobError, UsageError
from protolearn.cli.console import Progress, note, wrapped
from protolearn.cli.inputs import (
    check_classes,
    read,
    renamed_classes,
    row_names,
    split_target,
    without_identifiers,
)
from protolearn.cli.methods import METHODS

# Above so many rows the number of prototypes is chosen on a part of them.
_WALK_ROWS = 20_000
# The temperature of the probabilities comes from five folds; from so many rows on one of them is enough.
_FOLDS, _MANY_ROWS = 5, 2_000
# A candidate is printed where it is the best so far, or where nothing has been printed for so many seconds.
_SILENCE = 10.0
_NOTHING = "interrupted before there was anything to save."


class Data:
    """The rows to learn from and the rows to test on.

    told : a sentence for each column that is not what it looks like
    spelled : the columns whose texts spell numbers, each with the form
    rows, test_rows : the identifiers of the rows in their files
    """

    def __init__(self, options: argparse.Namespace, preparation: Any) -> None:
        self.options = options
        remarks: list[Any] = []
        frame = read(options.train, options, tell=remarks.append)
        names = row_names(frame, options.id, options.train)
        X, y = split_target(frame, options.target, options.train, self._dropped())
        X, left_out = without_identifiers(X, options.keep, options.train)
        # Of columns that are not learned from there is nothing to tell.
        remarks = [remark for remark in remarks if remark.column in X.columns]
        self.told = [*map(str, remarks), *left_out]
        self.spelled = {remark.column: remark.form for remark in remarks if remark.form}
        target = options.target or "target"
        check_classes(y, target, options.train)
        y = renamed_classes(y, options.labels, target, options.train)
        # What is wrong with a column is said once, with the row of the file, not of a part of it.
        try:
            self.preparation = preparation.fit(X)
        except ValueError:
            # How a column was read is often the cause.
            for sentence in self.told:
                print(wrapped(sentence), flush=True)
            raise
        if options.test is None:
            train, test = self._split(y)
            self.X, self.X_test, self.y, self.y_test = X[train], X[test], y[train], y[test]
            self.rows, self.test_rows = [names[row] for row in train], [names[row] for row in test]
        else:
            self.X, self.y, self.rows = X, y, names
            self.X_test, self.y_test = self._given_test(frame)

    def described(self) -> str:
        """The table in one line."""
        numbers = int(self.preparation.is_number_.sum())
        kinds = [(numbers, "number"), (self.X.width - numbers, "category")]
        listed = ", ".join(_counted(n, kind) for n, kind in kinds if n)
        n_classes = len(set(self.y.tolist()))
        return (
            f"{len(self.y)} rows to learn from, {len(self.y_test)} to test on, {_counted(self.X.width, 'column')} "
            f"({listed}), {n_classes} classes"
        )

    def _dropped(self) -> list[str]:
        named = self.options.id
        return [*self.options.drop, *([named] if named is not None and named not in self.options.drop else [])]

    def _split(self, y: Any) -> tuple[Any, Any]:
        """The indices of the rows to learn from, and of those to test on."""
        import numpy as np
        from sklearn.model_selection import train_test_split

        classes, counts = np.unique(y, return_counts=True)
        if counts.min() < 2:
            rare = classes[counts.argmin()]
            raise UsageError(f"class {rare} has one row only, none to test on; remove it, or give a file with --test.")
        n_test = max(round(len(y) * self.options.test_size), len(classes))
        if len(y) - n_test <= len(classes):
            raise UsageError(
                f"{len(y)} rows of {len(classes)} classes are too few to learn from some and to test on others; give "
                "more rows, or a file with --test."
            )
        train, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=self.options.seed)
        return train, test

    def _given_test(self, train: Any) -> tuple[Any, Any]:
        import numpy as np

        options = self.options
        texts = [name for name, dtype in train.schema.items() if str(dtype) in ("String", "Categorical", "Enum")]
        frame = read(options.test, options, texts=texts, columns=train.columns, spelled=self.spelled)
        self.test_rows = row_names(frame, options.id, options.test)
        X, y = split_target(frame, options.target, options.test, [])
        y = renamed_classes(y, options.labels, options.target or "target", options.test)
        if y.dtype.kind != self.y.dtype.kind:
            y = np.array([str(label) for label in y])
            known = {str(label) for label in self.y}
        else:
            known = set(self.y.tolist())
        unknown = sorted({str(label) for label in y.tolist() if label not in known})
        if unknown:
            raise UsageError(f"{options.test} holds class {unknown[0]}, which {options.train} does not.")
        return X, y if y.dtype.kind == self.y.dtype.kind else y.astype(self.y.dtype)


def remember_spelling(model: Any, spelled: dict[str, str]) -> None:
    """Let a fitted model read texts that spell numbers as the training set was read."""
    for pipeline in getattr(model, "estimators_", [model]):
        pipeline[0].set_params(spelled=spelled or None)


def _counted(n: int, kind: str) -> str:
    plural = kind[:-1] + "ies" if kind.endswith("y") else kind + "s"
    return f"{n} {kind if n == 1 else plural}"


class Automatic:
    """AutoPrototypes: held-out rows choose preparation, learner and number of prototypes.

    model : takes raw rows; with --one the single set as a pipeline
    tradeoff : empty; candidates differ in more than their size
    """

    def __init__(self, options: argparse.Namespace) -> None:
        for name in ("prototypes", "settings", "categories", "scaling"):
            if getattr(options, name):
                flag = "--set" if name == "settings" else f"--{name}"
                raise UsageError(f"{flag} is for one method; name it too, such as --method logm.")
        if options.report is not None and not options.one:
            raise UsageError("a report describes one set of prototypes; add --one, or name a --method.")
        from protolearn.tables import Preparation

        self.options = options
        self.preparation = Preparation(missing=options.missing, scaling="standard")
        self.tradeoff: list[Any] = []

    def learn(self, data: Data) -> bool:
        """Learn; True where Ctrl-C ended the race and the model is the best until then."""
        options = self.options
        with Progress("trying candidates") as progress:
            watched = _Race(progress, options.time_limit)
            self.automatic = protolearn.AutoPrototypes(
                max_bytes=options.max_bytes,
                time_limit=options.time_limit,
                members=1 if options.one else 3,
                class_weight=options.class_weight,
                random_state=options.seed,
                callback=watched,
            )
            try:
                self.automatic.fit(data.X, data.y)
            except KeyboardInterrupt:
                raise JobError(_NOTHING) from None
        self.automatic.set_params(callback=None)
        self._print_taken(watched)
        self.model = self.automatic.best_estimator_ if options.one else self.automatic
        return self.automatic.stopped_by_ == "Ctrl-C"

    def _print_taken(self, watched: _Race) -> None:
        """What was taken, with the rows of the candidates that were not printed in the race, and why it is no other."""
        found = self.automatic.cv_results_
        # The best first, of those that were judged on the most rows.
        rows = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
        taken = sorted((row for row in rows if row["share"]), key=lambda row: -row["share"])
        sets = [f"{row['candidate']} with {row['prototypes']} a class" for row in taken]
        why = ""
        if len(sets) == 1 and taken[0] is not rows[0]:
            limit = self.options.max_bytes
            why = "smaller at nearly the same log loss"
            if limit is not None and rows[0]["bytes"] > limit:
                why = "the best within --max-bytes"
        for row in taken:
            watched.show(row, why or "taken")
        if len(sets) == 1:
            told = sets[0] + (f", {why}" if why else "")
        else:
            shares = [f"{row['share']:.2f} x {told}" for row, told in zip(taken, sets, strict=True)]
            told = f"the mean of {len(sets)} sets, {'; '.join(shares)}"
        print(wrapped(f"Taken: {told}."))

    @property
    def name(self) -> str:
        """The model as the table names it."""
        n_prototypes = sum(len(one[-1].prototypes_) for one in self.automatic.estimators_)
        n_sets = len(self.automatic.estimators_)
        return f"{n_prototypes} prototypes" + (f" in {n_sets} sets" if n_sets > 1 else "")

    @property
    def numbers(self) -> int:
        """Numbers that the model stores."""
        return self.automatic.n_numbers_

    def remedy(self) -> str:
        """What to try where others are more accurate."""
        options = self.options
        begin = "leave out --one; " if options.one else ""
        begin += "raise --max-bytes; " if options.max_bytes is not None else ""
        begin += "raise --time-limit; " if self.automatic.stopped_by_ == "time_limit" else ""
        return (
            f"To try: {begin}`protolearn compare`, which tunes every method on this table; --method hartcondensing, "
            "which keeps the rows near the borders."
        )


class _Race:
    """Prints the candidates of a race as they are judged."""

    def __init__(self, progress: Progress, time_limit: float | None) -> None:
        self.progress, self.time_limit = progress, time_limit
        self.begin = self.printed = time.monotonic()
        self.best = float("inf")
        self.rows: list[dict[str, Any]] = []
        self.shown: set[tuple[str, int, int]] = set()

    def __call__(self, row: dict[str, Any]) -> None:
        # What a candidate is worth is known when all folds have judged it.
        tried = row["folds"] == 1 and row["prototypes"] == 1
        least = not tried and row["loss"] < self.best
        now = time.monotonic()
        if least or now - self.printed > _SILENCE:
            self.show(row, "least log loss so far" if least else "")
            self.printed = now
        if not tried:
            self.rows.append(row)
            self.best = min(self.best, row["loss"])
        self.progress.advance(left=self._left(now))

    def show(self, row: dict[str, Any], remark: str) -> None:
        """Print the line of a candidate, once."""
        if not self.shown:
            print(f"\n{'candidates, on held-out rows':31}{'a class':>7}{'accuracy':>10}{'log loss':>10}{'numbers':>8}")
        key = row["candidate"], row["prototypes"], row["folds"]
        if key in self.shown:
            return
        self.shown.add(key)
        # Nothing is lost where rounding makes the loss a little less than nothing.
        figures = f"{row['prototypes']:>7}{row['accuracy']:>10.3f}{max(0.0, row['loss']):>10.4f}{row['numbers']:>8}"
        print(f"{row['candidate']:31.31}{figures}  {remark}".rstrip(), flush=True)

    def _left(self, now: float) -> str:
        """At most how long the race goes on, from what its candidates took with one prototype a class."""
        from protolearn.auto.race import COUNTS, FIRST, GROW

        first = [row["seconds"] for row in self.rows if row["prototypes"] == COUNTS[0]]
        grown = [row["seconds"] for row in self.rows if row["prototypes"] != COUNTS[0]]
        mean = sum(first) / max(len(first), 1)
        left = mean * (max(FIRST - len(first), 0) + GROW * sum(COUNTS[1:])) - sum(grown)
        if self.time_limit is not None:
            left = min(left, self.time_limit - (now - self.begin))
        return f"at most about {_duration(left)} left" if left > 0 else ""


class Named:
    """The method that the user names, with a number of prototypes by cross-validation where none is given."""

    def __init__(self, options: argparse.Namespace) -> None:
        for name in ("one", "max_bytes", "time_limit"):
            if getattr(options, name):
                raise UsageError(f"--{name.replace('_', '-')} is for the automatic choice; leave out --method.")
        from protolearn.tables import Preparation

        self.options = options
        self.classifier = self._classifier()
        self.preparation = Preparation(options.categories or "onehot", options.missing, options.scaling or "minmax")
        self.tradeoff: list[Any] = []
        self.ended_rising = False

    def _classifier(self) -> Any:
        options = self.options
        kind = getattr(protolearn, METHODS[options.method])
        classifier = kind()
        known = classifier.get_params(deep=False)
        given: dict[str, Any] = {"random_state": options.seed} if "random_state" in known else {}
        if options.class_weight is not None:
            if "class_weight" not in known:
                raise UsageError(f"{kind.__name__} does not weigh classes; leave out --class-weight.")
            given["class_weight"] = options.class_weight
        for setting in options.settings:
            name, equals, text = setting.partition("=")
            if not equals or name not in known:
                raise UsageError(f"{kind.__name__} has no parameter {name!r}; it has {', '.join(known)}.")
            try:
                given[name] = json.loads(text)
            except ValueError:
                given[name] = text
        if options.prototypes is not None and "n_prototypes" not in known:
            raise UsageError(f"{kind.__name__} finds the number of prototypes itself; leave out --prototypes.")
        self.walks = "n_prototypes" in known and "n_prototypes" not in given and options.prototypes in (None, "auto")
        if "n_prototypes" in known and "n_prototypes" not in given and not self.walks:
            given["n_prototypes"] = options.prototypes
        return classifier.set_params(**given)

    def learn(self, data: Data) -> bool:
        """Learn; True where it was interrupted and the model is what was there by then."""
        interrupted = self._walk(data) if self.walks else False
        Z = self.preparation.fit_transform(data.X)
        try:
            self._fit(Z, data.y)
        except KeyboardInterrupt:
            if not hasattr(self.classifier, "prototypes_"):
                raise JobError(_NOTHING) from None
            interrupted = True
        from sklearn.pipeline import Pipeline

        self.model = Pipeline([("prepare", self.preparation), ("classify", self.classifier)])
        return interrupted or self._calibrate(data)

    def _calibrate(self, data: Data) -> bool:
        """Give the probabilities the temperature that fits rows not learned from; True where Ctrl-C ended that."""
        import numpy as np
        from sklearn.model_selection import StratifiedKFold

        from protolearn.explain import calibrated

        most = int(np.unique(data.y, return_counts=True)[1].max())
        if most < 2 or getattr(self.classifier, "classify_by", "prototypes") != "prototypes":
            return False
        folds = StratifiedKFold(min(_FOLDS, most), shuffle=True, random_state=self.options.seed)
        count = 1 if len(data.y) >= _MANY_ROWS else folds.n_splits
        try:
            with Progress("calibrating the probabilities"), warnings.catch_warnings():
                # What there is to say of the rows, the fit of all of them has said.
                warnings.simplefilter("ignore")
                splits = islice(folds.split(np.zeros(len(data.y)), data.y), count)
                self.model = calibrated(self.model, data.X, data.y, cv=splits)
        except KeyboardInterrupt:
            note("interrupted: the probabilities are not calibrated.")
            return True
        except ValueError as error:
            # A fold may lack what the settings name, such as the only row of a class.
            note(f"the probabilities are not calibrated, for a part of the rows cannot be learned from: {error}")
        return False

    def _walk(self, data: Data) -> bool:
        """Choose the number of prototypes; True where the walk was interrupted."""
        import numpy as np
        from sklearn.metrics import accuracy_score, balanced_accuracy_score

        from protolearn.auto.search import stratified_part
        from protolearn.estimators.tradeoff import COUNTS, folds_of, smallest_within_one_error, walk_tradeoff

        codes = np.unique(data.y, return_inverse=True)[1]
        part = stratified_part(codes, _WALK_ROWS, np.random.RandomState(self.options.seed))
        told = f", on {len(part)} of the rows" if len(part) < len(codes) else ""
        folds = folds_of(data.X[part], data.y[part], self.preparation, seed=self.options.seed)
        score = balanced_accuracy_score if self.options.class_weight else accuracy_score
        print(f"\nprototypes  cross-validated {'balanced ' if self.options.class_weight else ''}accuracy{told}")
        interrupted = False
        try:
            with Progress("how many prototypes", total=len(COUNTS) * len(folds)) as progress:

                def watch(count: int, left: int, seconds: float) -> None:
                    progress.advance(1, left=f"{count} a class: {_duration(left * seconds)} left" if left else "")

                for point in walk_tradeoff(self.classifier, folds, score=score, watch=watch):
                    self.tradeoff.append(point)
                    print(f"{point.per_class:>3} a class  {point.accuracy:.3f} +- {point.spread:.3f}", flush=True)
        except KeyboardInterrupt:
            interrupted = True
            if not self.tradeoff:
                raise JobError(_NOTHING) from None
            note("interrupted: learning with the best number of prototypes until then, and saving.")
        chosen = smallest_within_one_error(self.tradeoff)
        self.ended_rising = len(self.tradeoff) > 1 and chosen is self.tradeoff[-1]
        print(f"Taken: {chosen.per_class} a class.")
        self.classifier.set_params(n_prototypes=chosen.per_class)
        return interrupted

    def _fit(self, Z: Any, y: Any) -> None:
        classifier = self.classifier
        total = getattr(classifier, "max_iter", None)
        with Progress(f"learning {type(classifier).__name__}", total=total) as progress:
            watched = "callback" in classifier.get_params(deep=False)
            begin, done = time.monotonic(), 0

            def watch(*_: Any) -> None:
                nonlocal done
                done += 1
                left = (time.monotonic() - begin) / done * ((total or done) - done)
                progress.advance(1, left=f"at most about {_duration(left)} left" if left > 0 else "")

            if watched:
                classifier.set_params(callback=watch)
            try:
                classifier.fit(Z, y)
            finally:
                if watched:
                    classifier.set_params(callback=None)

    @property
    def name(self) -> str:
        """The model as the table names it."""
        return f"{type(self.classifier).__name__}, {len(self.classifier.prototypes_)} prototypes"

    @property
    def numbers(self) -> int:
        """Numbers that the model stores, the scale of its columns among them."""
        import numpy as np

        classifier = self.classifier
        numbers = classifier.prototypes_.size + np.size(getattr(classifier, "_theta", ()))
        if getattr(classifier, "classify_by", "prototypes") == "mixture":
            numbers += classifier.variances_.size + classifier.priors_.size
        return numbers + 2 * len(self.preparation.factor_)

    def remedy(self) -> str:
        """What to try where others are more accurate."""
        more = "more prototypes by --prototypes, for accuracy still rose; " if self.ended_rising else ""
        more = more or (
            "--prototypes auto; " if "n_prototypes" in self.classifier.get_params() and not self.walks else ""
        )
        return f"To try: {more}the automatic choice, without --method; `protolearn compare`, which tunes every method."


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

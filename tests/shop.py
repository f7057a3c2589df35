"""A table as a newcomer has it: categories, missing values, texts as labels."""

import csv
import re

import numpy as np

from protolearn import cli


def write_shop(path, n=300, seed=1):
    rng = np.random.default_rng(seed)
    bought = rng.random(n) < 0.45
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "income", "job", "owner", "bought"])
        for yes in bought:
            age = round(rng.normal(38, 9) + 9 * yes)
            income = "" if rng.random() < 0.08 else round(float(rng.lognormal(10 + 0.4 * yes, 0.4)))
            job = ("office" if yes else "field") if rng.random() < 0.6 else rng.choice(["shop", "office", "field"])
            job = "NA" if rng.random() < 0.05 else job
            writer.writerow([age, income, job, rng.choice(["t", "f"]), "yes" if yes else "no"])
    return path


def run(*arguments):
    """A command in this process; its exit code."""
    return cli.main([str(argument) for argument in arguments])


def masked(text):
    """Without what differs from machine to machine: times, and what follows from them."""
    text = re.sub(r"(?m)^(.*\d\.\d{3} +[\d-]+ +\d+\.\d) +\d+\.\d\d$", r"\1 TIME", text)
    text = re.sub(r"about (\d+(\.\d)? x (faster|slower)|as fast)", "N x faster", text)
    # A model file holds measured seconds, and numbers with as many digits as they need.
    text = re.sub(r"learned in \d+ s(: \S+ \(\d+ KB\))?", "learned in N s", text)
    text = re.sub(r"(?m)^((given|small): .*\d\.\d{3} +\d+) +\d+\.\d\d$", r"\1 TIME", text)
    text = re.sub(r"(?m)^(given: .*\d\.\d{3}) +\d+ TIME$|(where it takes) \d+", r"\1\2 SIZE", text)
    # The size of a pickled model is that of a release of scikit-learn.
    text = re.sub(r"(gradient boosting .*-) +\d+\.\d TIME", r"\1 SIZE TIME", text)
    return "\n".join(line.rstrip() for line in text.replace(" us a row", "").splitlines()).strip()


def mutated(data, rng):
    """A file with a few bytes changed, inserted, removed, repeated or swapped, or cut off."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        at, kind = int(rng.integers(len(data))), rng.integers(6)
        if kind == 0:
            data[at] = int(rng.integers(256))
        elif kind == 1:
            data.insert(at, int(rng.choice(list(b",;\"\n\r\t\x00\xff'#"))))
        elif kind == 2:
            del data[at : at + int(rng.integers(1, 30))]
        elif kind == 3 and at:
            del data[at:]
        elif kind == 4:
            data[at:at] = data[: int(rng.integers(60))]
        else:
            other = int(rng.integers(len(data)))
            data[at], data[other] = data[other], data[at]
        if not data:
            break
    return bytes(data)

"""Online methods on samples in blocks: walks over blocks, several at a time, and the mean of where they end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from protolearn.core.prototypes import PrototypeSet
from protolearn.data import Samples, TrainingSet
from protolearn.metrics import Metric
from protolearn.solvers.base import DIVERGED, SOLVERS, Objective, Plan, Solution, Solver
from protolearn.solvers.online import online
from protolearn.solvers.stopping import EarlyStopping, best_iterate, unchanged


@dataclass(frozen=True)
class _Walker:
    """Where a walk over blocks is.

    rates : the prototypes' own rates, where the loss has them
    steps : samples shown since the fit began
    loss, weight : sum of the losses of this round, and of the weights
    """

    prototypes: PrototypeSet
    rates: np.ndarray | None
    steps: int
    loss: float = 0.0
    weight: float = 0.0
    diverged: bool = False


def rounds(start: PrototypeSet, data: Samples, objective: Objective, plan: Plan) -> Solution:
    """One pass over all blocks a round; after a round of several walks the prototypes are averaged.

        w_i <- sum over the walks of N_walk w_i(walk) / N          McDonald, Hall and Mann (2010), parameter mixing

    With one walk (blocks that come to this process one by one) nothing is averaged: this is the online method, whose
    rows are shuffled within their block. With several, each walk begins at the same prototypes and runs the online
    method on its own blocks. A mean of k walks moves about as far as one of them: k times as many samples are read
    for the way of one walk, with less noise. Schedules end with the last round; the slope grows as on one machine.
    """
    stopping = EarlyStopping(plan.tol, plan.watch, best_iterate(plan, data, objective.metric))
    result = Solution(start)
    local = replace(plan, watch=None, keep="last", validation=None, tol=None, max_iter=1)
    # A walk sees its share of the samples only, so its schedule runs that much faster.
    local = replace(local, n_steps=max(plan.max_iter * data.n_samples // data.n_chains, 1))
    local = replace(local, annealing=float(plan.annealing**data.n_chains))
    walker = _Walker(start, plan.rates, 0)
    try:
        for _ in range(plan.max_iter):
            seed = int(plan.random.randint(2**31 - 1))
            step = partial(_show_block, objective, replace(local, random=None), seed)  # type: ignore[arg-type]
            ends = data.walk(step, replace(walker, loss=0.0, weight=0.0))
            walker = _mean(ends, objective.metric)
            if walker.diverged:
                rate = plan.position_rate / objective.loss.rate_unit(plan.scale)
                result.message = DIVERGED.format(epoch=len(stopping.curve) + 1, rate=rate)
                break
            if stopping.should_stop(walker.loss / walker.weight, partial(unchanged, walker.prototypes)):
                break
    except KeyboardInterrupt:
        result.interrupted = True
    result.prototypes = stopping.chosen(walker.prototypes)
    result.loss_curve, result.n_iter = stopping.curve, max(len(stopping.curve), 1)
    result.n_steps, result.rates = walker.steps * data.n_chains, walker.rates
    return result


def _show_block(
    objective: Objective, plan: Plan, seed: int, walker: _Walker, block: TrainingSet, number: int
) -> _Walker:
    """One pass over the rows of a block; nothing once learning has diverged."""
    if walker.diverged:
        return walker
    random = np.random.RandomState(np.random.default_rng([seed, number]).integers(2**31 - 1))
    plan = replace(plan, random=random, first_step=walker.steps, rates=walker.rates)
    found = online(walker.prototypes, block, objective, plan)
    if not found.loss_curve:
        return replace(walker, prototypes=found.prototypes, diverged=True)
    loss = walker.loss + found.loss_curve[-1] * block.total_weight
    return _Walker(found.prototypes, found.rates, found.n_steps, loss, walker.weight + block.total_weight)


def _mean(ends: list[_Walker], metric: Metric) -> _Walker:
    """The mean of where some walks ended, by the weight of what each has seen."""
    if len(ends) == 1:
        return ends[0]
    weights = np.array([end.weight for end in ends])
    # A walk that diverged on its first block has no weight.
    share = weights / weights.sum() if weights.any() else np.full(len(ends), 1.0 / len(ends))
    first = ends[0].prototypes
    dtype = first.positions.dtype
    positions = sum(s * end.prototypes.positions.astype(np.float64) for s, end in zip(share, ends, strict=True))
    theta = sum(s * end.prototypes.theta.astype(np.float64) for s, end in zip(share, ends, strict=True))
    own_rates = [end.rates for end in ends if end.rates is not None]
    rates = share @ np.stack(own_rates) if len(own_rates) == len(ends) else None
    return _Walker(
        first.moved(np.asarray(positions), metric.project(np.asarray(theta))).astype(dtype),
        rates,
        round(float(np.mean([end.steps for end in ends]))),
        sum(end.loss for end in ends),
        float(weights.sum()),
        any(end.diverged for end in ends),
    )


SOLVERS.add(
    "online",
    Solver(
        online, "one sample at a time, as most of the papers do", solve_blocks=rounds, by_sample=True, rate_factors=True
    ),
)

"""What the soft losses share: the posterior of a sample's class under equal Gaussians around the prototypes."""

from __future__ import annotations

import numpy as np

from protolearn.compiled import inline

# exp(-38) is below the rounding of a sum that holds a 1.
NEGLIGIBLE = 38.0


@inline
def class_posterior(D, labels, k, slope, C):
    """P_k, ln P_k and ln of the own class's sum, with C filled for the coefficients.

        P_i = exp(-slope D_i) / sum_l exp(-slope D_l),  P_k = sum of P_i over the class k   LOGM (10) to (12)

    C_i becomes P_i / P_k for prototypes of class k and P_i for the others. The two sums are shifted by their own
    nearest distance, so P_i / P_k stays exact where P_k itself is too small for a number. A distance of infinity
    takes a prototype out. Where no prototype of class k is left, P_k is 0.
    """
    own = rival = np.inf
    for i in range(D.shape[0]):
        if labels[i] == k:
            own = min(own, D[i])
        else:
            rival = min(rival, D[i])
    own_sum = rival_sum = 0.0
    for i in range(D.shape[0]):
        nearest = own if labels[i] == k else rival
        gap = slope * (D[i] - nearest) if D[i] < np.inf else np.inf
        e = np.exp(-gap) if gap < NEGLIGIBLE else 0.0
        C[i] = e
        if labels[i] == k:
            own_sum += e
        else:
            rival_sum += e
    log_own = np.log(own_sum) - slope * own if own_sum > 0.0 else -np.inf
    log_rival = np.log(rival_sum) - slope * rival if rival_sum > 0.0 else -np.inf
    if own_sum == 0.0:
        posterior, log_posterior = 0.0, -np.inf
    elif rival_sum == 0.0:
        posterior, log_posterior = 1.0, 0.0
    else:
        z = log_rival - log_own
        log_posterior = -(max(z, 0.0) + np.log1p(np.exp(-abs(z))))
        posterior = np.exp(log_posterior)
    others = 1.0 - posterior if posterior < 0.5 or rival_sum == 0.0 else np.exp(log_rival - log_own + log_posterior)
    for i in range(D.shape[0]):
        if labels[i] == k:
            C[i] = C[i] / own_sum if own_sum > 0.0 else 0.0
        elif rival_sum > 0.0:
            C[i] *= others / rival_sum
    return posterior, log_posterior, log_own


@inline
def keep_nearest(D, labels, k, count, include_own):
    """Distances with all but the `count` nearest prototypes at infinity, ties to the lowest index.

    With `include_own` the nearest prototype of class k takes the place of the farthest one kept, where none was kept.
    """
    kept = np.full(D.shape[0], np.inf)
    nearest = np.empty(min(count, D.shape[0]), np.int64)
    n = 0
    for i in range(D.shape[0]):
        if n == nearest.shape[0] and not D[i] < D[nearest[n - 1]]:
            continue
        n = min(n + 1, nearest.shape[0])
        place = n - 1
        while place > 0 and D[i] < D[nearest[place - 1]]:
            nearest[place] = nearest[place - 1]
            place -= 1
        nearest[place] = i
    for place in range(n):
        kept[nearest[place]] = D[nearest[place]]
    if include_own:
        own = -1
        for i in range(D.shape[0]):
            if labels[i] == k:
                if kept[i] < np.inf:
                    return kept
                if own < 0 or D[i] < D[own]:
                    own = i
        if own >= 0:
            kept[nearest[n - 1]] = np.inf
            kept[own] = D[own]
    return kept


@inline
def misclassification(D, labels, k, slope, alpha, C):
    """1 - P_k and its coefficients, with the regulariser: SNPC, MAXP1."""
    posterior, _, log_own = class_posterior(D, labels, k, slope, C)
    regular = alpha > 0.0 and log_own > -np.inf
    for i in range(D.shape[0]):
        if labels[i] == k:
            C[i] *= slope * (posterior * (1.0 - posterior) + (alpha if regular else 0.0))
        else:
            C[i] *= -slope * posterior
    return 1.0 - posterior - (alpha * log_own if regular else 0.0)


@inline
def negative_log_likelihood(D, labels, k, slope, alpha, C):
    """-ln P_k and its coefficients, with the regulariser: RSLVQ, RSLVQ1."""
    posterior, log_posterior, log_own = class_posterior(D, labels, k, slope, C)
    regular = alpha > 0.0 and log_own > -np.inf
    for i in range(D.shape[0]):
        if labels[i] == k:
            C[i] *= slope * ((1.0 - posterior) + (alpha if regular else 0.0))
        else:
            C[i] *= -slope
    return -log_posterior - (alpha * log_own if regular else 0.0)

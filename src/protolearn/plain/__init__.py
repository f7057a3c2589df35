"""A fitted classifier as plain arrays, in float or fixed point: what exports write and what sizes are counted from."""

from protolearn.plain.fixed_point import FixedPointModel, fixed_point_model
from protolearn.plain.folding import plain_model
from protolearn.plain.model import PlainModel

__all__ = ["FixedPointModel", "PlainModel", "fixed_point_model", "plain_model"]

"""Rows become moments: of each class, within the classes, or of features and outputs together."""

from safdr._engine.moments.classes import ClassMoments, class_moments
from safdr._engine.moments.joint import JointMarginals, JointMoments, joint_moments
from safdr._engine.moments.within import ClassMarginals, WithinMoments, within_moments

__all__ = [
    "ClassMarginals",
    "ClassMoments",
    "JointMarginals",
    "JointMoments",
    "WithinMoments",
    "class_moments",
    "joint_moments",
    "within_moments",
]

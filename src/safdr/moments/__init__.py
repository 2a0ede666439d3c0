"""Rows become moments: of each class, within the classes, or of features and outputs together."""

from safdr.moments.arrays import FloatArray, IntArray, Rows
from safdr.moments.classes import ClassMoments, class_moments, merge_moments
from safdr.moments.joint import JointMoments, joint_moments
from safdr.moments.within import WithinMoments, within_moments

__all__ = [
    "ClassMoments",
    "FloatArray",
    "IntArray",
    "JointMoments",
    "Rows",
    "WithinMoments",
    "class_moments",
    "joint_moments",
    "merge_moments",
    "within_moments",
]

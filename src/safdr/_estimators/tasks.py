"""The tasks by name."""

from __future__ import annotations

from typing import Any

from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.training_data import ClassData, TrainingData
from safdr.errors import ParameterError

TASKS: dict[str, type[TrainingData]] = {"classification": ClassData, "regression": MeasuredData}


def check_task(task: Any) -> type[TrainingData]:
    """The kind of training data of a task."""
    if not isinstance(task, str) or task not in TASKS:
        raise ParameterError(
            "task",
            "must be one of {known}; got {task!r}.",
            known=", ".join(map(repr, TASKS)),
            task=task,
        )
    return TASKS[task]

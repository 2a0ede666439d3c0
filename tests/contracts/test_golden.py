"""Golden results: the answers of today, which a change must not move by accident.

`golden.json` has four sections, each with one entry per data set:

- `as_published`: the method of the paper. It never changes.
- `population`: the same with `PopulationAnnealing`. It never changes either.
- `defaults`: the default recipe. Only a change of the recipe may change it.
- `shrinkage`: the constant that `shrinkage="auto"` chooses from the rows.

Subsets, sizes and names are compared exactly, numbers to a relative 1e-6. To write the file
again, run ``python tests/contracts/test_golden.py SECTION``, and name the reason in the changelog.
"""

import json
import sys
import warnings
from pathlib import Path

import pytest
from sklearn import datasets

import safdr

FILE = Path(__file__).with_name("golden.json")

# Loss of a model that separates its classes: zero, but for rounding.
ZERO = 1e-9


def every_fifth(data):
    X, y = data
    return X[::5], y[::5]


# Rows and the largest size to try. The generated sets are so noisy that sizes differ.
DATA = {
    "breast_cancer": (lambda: datasets.load_breast_cancer(return_X_y=True), 10),
    "iris": (lambda: datasets.load_iris(return_X_y=True), 4),
    "wine": (lambda: datasets.load_wine(return_X_y=True), 5),
    "digits": (lambda: every_fifth(datasets.load_digits(return_X_y=True)), 5),
    "diabetes": (lambda: datasets.load_diabetes(return_X_y=True), 10),
    "two_classes": (
        lambda: datasets.make_classification(
            300, 40, n_informative=8, n_redundant=6, flip_y=0.1, class_sep=0.6, random_state=0
        ),
        10,
    ),
    "four_classes": (
        lambda: datasets.make_classification(
            400, 15, n_informative=6, n_redundant=3, n_classes=4, class_sep=0.7, random_state=1
        ),
        6,
    ),
    "regression": (
        lambda: datasets.make_regression(200, 20, n_informative=8, noise=150.0, random_state=2),
        8,
    ),
}
REGRESSION = ("diabetes", "regression")


def fit(make, name, **params):
    X, y = DATA[name][0]()
    with warnings.catch_warnings():
        # Unpenalised models may separate the classes, as in the paper.
        warnings.simplefilter("ignore", safdr.SeparationWarning)
        return make(**params, random_state=0).fit(X, y)


def search(name):
    selector = safdr.AnnealingSelectorCV
    return safdr.AnnealingRegressorSelectorCV if name in REGRESSION else selector


def as_published(name):
    return answer(fit(search(name).as_published, name, sizes=DATA[name][1]))


def population(name):
    annealing = safdr.PopulationAnnealing()
    return answer(fit(search(name).as_published, name, sizes=3, annealing=annealing))


def defaults(name):
    fitted = fit(search(name), name, sizes=DATA[name][1])
    own = {"ridge": ridge(fitted), "calibration_slope": fitted.calibration_slope_}
    return answer(fitted) | own | {"n_screened": fitted.result_.n_screened}


def shrinkage(name):
    selector = safdr.AnnealingSelector
    selector = safdr.AnnealingRegressorSelector if name in REGRESSION else selector
    return {"ridge": ridge(fit(selector, name, n_features_to_select=2, shrinkage="auto"))}


def ridge(fitted):
    """Added to a diagonal of one: r of the shrinkage r / (1 + r)."""
    return fitted.shrinkage_ / (1.0 - fitted.shrinkage_)


def answer(fitted):
    results = fitted.cv_results_
    return {
        "subset": fitted.subset_.tolist(),
        "size": fitted.n_features_,
        "criterion_value": fitted.criterion_value_,
        "loss": fitted.result_.loss,
        "n_features": results["n_features"].tolist(),
        "mean_test_score": results["mean_test_score"].tolist(),
        "std_test_score": results["std_test_score"].tolist(),
    }


SECTIONS = {
    "as_published": as_published,
    "population": population,
    "defaults": defaults,
    "shrinkage": shrinkage,
}


def rounded(value):
    """A value with nine significant digits in each number."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def write(section):
    golden = json.loads(FILE.read_text()) if FILE.exists() else {}
    golden[section] = {name: rounded(SECTIONS[section](name)) for name in DATA}
    lines = []
    for title in filter(golden.get, SECTIONS):
        entries = [f"    {json.dumps(k)}: {json.dumps(each)}" for k, each in golden[title].items()]
        lines.append(f"  {json.dumps(title)}: {{\n" + ",\n".join(entries) + "\n  }")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("name", DATA)
def test_the_answer_is_that_of_the_file(section, name):
    expected = json.loads(FILE.read_text())[section][name]
    found = SECTIONS[section](name)
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if isinstance(value, float) or (isinstance(value, list) and isinstance(value[0], float)):
            assert found[key] == pytest.approx(value, rel=1e-6, abs=ZERO), key
        else:
            assert found[key] == value, key


@pytest.mark.parametrize("name", ["breast_cancer", "diabetes"])
def test_parameter_objects_have_the_defaults(name):
    how = {"annealing": safdr.Annealing(), "constraints": safdr.Constraints()}
    found = answer(fit(search(name), name, sizes=DATA[name][1], **how))
    assert found == answer(fit(search(name), name, sizes=DATA[name][1]))


@pytest.mark.parametrize("name", ["breast_cancer", "digits", "diabetes"])
def test_the_answer_does_not_depend_on_threads(name):
    one, two = (
        answer(fit(search(name), name, sizes=DATA[name][1], n_jobs=n_jobs)) for n_jobs in (1, 2)
    )
    assert one == two


if __name__ == "__main__":
    for each in sys.argv[1:] or SECTIONS:
        write(each)

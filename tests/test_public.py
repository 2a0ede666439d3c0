"""The public names, their parameters, and the attributes of a fit."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.utils._param_validation import StrOptions

import safdr
from helpers.selectors import TASKS, make_rows, of_size, over_sizes

MODEL = "criterion estimator shrinkage C constraints feature_cost"
REST = "annealing n_jobs random_state"
STOP = "max_steps tol n_iter_no_change n_batches batch_fraction screen device"
SEARCH = "sizes cv scoring rule"

# Classes and functions whose parameters users write.
PARAMETERS = {
    "AnnealingSelector": f"n_features_to_select {MODEL} class_weight {REST}",
    "AnnealingSelectorCV": f"{SEARCH} {MODEL} class_weight {REST}",
    "AnnealingRegressorSelector": f"n_features_to_select family {MODEL} {REST}",
    "AnnealingRegressorSelectorCV": f"{SEARCH} family {MODEL} {REST}",
    "AnnealingSurvivalSelector": f"n_features_to_select {MODEL} {REST}",
    "AnnealingSurvivalSelectorCV": f"{SEARCH} {MODEL} {REST}",
    "Annealing": f"n_replicas sweeps temperature_step {STOP}",
    "PopulationAnnealing": f"n_replicas sweeps target_ess {STOP}",
    "Constraints": "always_include never_include groups at_most_one_of signs",
    "Stream": "source columns sample_rows",
    "anneal_path": "selector X y sizes sample_weight n_jobs",
    "evaluate_subsets": "selector X y subsets sample_weight n_jobs",
    "prove": "selector X y size time_limit sample_weight n_jobs",
    "near_optimal": "selector X y size rtol max_subsets time_limit sample_weight n_jobs",
    "substitutes": "selector X y n_best cv scoring sample_weight groups n_jobs",
    "stability": "selector X y n_resamples choose_size sample_weight groups n_jobs random_state",
    "what_if": "selector X y n_features also sample_weight",
}
# Classes that users read.
OTHERS = (
    "AnnealingResult NearOptimal ParameterError PathDisplay Proof Report SelectionDisplay "
    "SeparationWarning Stability StabilityDisplay SubsetEvaluation SubstitutesDisplay TableEncoder "
    "Trace TraceDisplay WhatIf"
)
STRINGS = {
    "criterion": {"auto", "fisher", "r2", "score"},
    "family": {"gaussian", "poisson", "gamma"},
    "shrinkage": {"auto"},
    "rule": {"one_se", "one_sd", "best"},
    "class_weight": {"balanced"},
    "screen": {"auto"},
}
ATTRIBUTES = (
    "criterion_ criterion_value_ duplicates_ estimator_ n_features_ n_features_in_ result_ "
    "shrinkage_ subset_ support_"
)
CV_ATTRIBUTES = "calibration_slope_ cv_results_ n_splits_ scorer_"
METHODS = (
    "as_published fit fit_transform get_feature_names_out get_metadata_routing get_params "
    "get_support inverse_transform predict score set_fit_request set_output set_params "
    "set_score_request transform"
)
CLASS_METHODS = "decision_function predict_log_proba predict_proba"

SELECTORS = [name for name in PARAMETERS if "Selector" in name]
FUNCTIONS = [name for name in PARAMETERS if name.islower()]


def test_public_names():
    assert sorted(safdr.__all__) == sorted([*PARAMETERS, *OTHERS.split()])
    assert set(safdr.__all__) <= set(dir(safdr))
    with pytest.raises(AttributeError, match="Annealer"):
        _ = safdr.Annealer


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    parameters = inspect.signature(getattr(safdr, name)).parameters
    assert list(parameters) == PARAMETERS[name].split()
    n_positional = {"Constraints": 0, "Annealing": 0, "PopulationAnnealing": 0, "Stream": 3}
    positional = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    takes_four = name in ("anneal_path", "evaluate_subsets")
    wanted = 1 if name in SELECTORS else 4 if takes_four else 3
    assert len(positional) == n_positional.get(name, wanted)


@pytest.mark.parametrize("name", PARAMETERS)
def test_docstrings(name):
    member = getattr(safdr, name)
    doc = inspect.getdoc(member)
    assert doc.splitlines()[0].endswith(".")
    section = doc.split("\nParameters\n----------\n")[1].split("\n-----")[0]
    heads = re.findall(r"^\S.*$", section, flags=re.MULTILINE)
    documented = {each.strip() for head in heads for each in head.split(" : ")[0].split(",")}
    assert set(inspect.signature(member).parameters) <= documented
    assert "\nExamples\n--------\n>>> " in doc
    assert len(doc.split()) <= 700


@pytest.mark.parametrize("name", [*SELECTORS, "Annealing", "PopulationAnnealing"])
def test_strings_that_parameters_accept(name):
    for parameter, allowed in getattr(safdr, name)._parameter_constraints.items():
        if isinstance(allowed, list):
            found = {s for each in allowed if isinstance(each, StrOptions) for s in each.options}
            assert found <= STRINGS.get(parameter, set()), parameter


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("make", [of_size, over_sizes])
def test_attributes_and_methods(make, task):
    X, y = make_rows(task)
    fitted = make(task=task).fit(X, y)
    attributes = ATTRIBUTES.split() + ["classes_"] * (task != "regression")
    attributes += CV_ATTRIBUTES.split() * (make is over_sizes)
    public = [name for name in vars(fitted) if name.endswith("_") and not name.startswith("_")]
    assert sorted(public) == sorted(attributes)
    methods = METHODS.split() + CLASS_METHODS.split() * (task != "regression")
    found = {n for n in dir(fitted) if callable(getattr(fitted, n)) and n.islower()}
    names = {n for n in found if not (n.startswith("_") or n.endswith("_"))}
    names -= {"set_callbacks", "set_partial_fit_request", *fitted.get_params(deep=False)}
    assert names <= set(methods)


def test_typed_use_names_everything():
    text = Path(__file__).with_name("typed_use.py").read_text(encoding="utf-8").split("\n\n\n", 1)
    assert [name for name in safdr.__all__ if not re.search(rf"\b{name}\b", text[1])] == []

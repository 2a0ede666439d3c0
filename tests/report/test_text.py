"""Number formats, names and sentences."""

import copy

import pytest

from safdr import text

NUMBERS = {
    0.0: "0",
    1.0: "1.000",
    -0.0485: "−0.04850",
    -1.86e-05: "−1.860\u00a0×\u00a010⁻⁵",
    12345.6: "12,346",
    999.96: "1000",
    3e12: "3.000\u00a0×\u00a010¹²",
    float("inf"): "inf",
}


@pytest.mark.parametrize(("value", "shown"), NUMBERS.items())
def test_numbers(value, shown):
    assert text.number(value) == shown


def test_other_formats():
    assert text.fixed(-0.0001) == "0.000"
    assert text.fixed(1234.5, 1) == "1,234.5"
    assert text.signed(0.0, 4) == "0.0000"
    assert text.signed(0.0021, 4) == "+0.0021"
    assert text.signed(-0.0021, 4) == "−0.0021"
    assert text.percent(0.569) == "57\u00a0%"
    assert text.shortfall(5e-5) == "less than 0.01\u00a0%"
    assert text.shortfall(0.0194) == "1.9\u00a0%"
    assert text.p_value(1e-4) == "< 0.001"
    assert text.count(1, "row") == "1 row"
    assert text.count(6000, "row") == "6,000 rows"
    assert text.count(2, "class") == "2 classes"
    assert text.seconds(1.84) == "1.8 s"
    assert text.seconds(600) == "10 min"


def test_names():
    assert text.one_line("two\nlines\x00 \u202eback \ud83d") == (
        "two\\u000alines\\u0000 \\u202eback \\ud83d"
    )
    assert text.one_line("rate 5 % x") == "rate 5 % x"
    assert text.one_line("👩‍🔬") == "👩‍🔬"
    assert text.one_line("") == "(no name)"
    assert len(text.shortened("n" * 300)) == text.LONGEST_NAME
    assert text.joined("abcdefgh", 4) == "a, b, c and 5 more"


# ---- Sentences -----------------------------------------------------------------------------------

PROOF = {
    "proven": True,
    "value": 3.0,
    "features": ["a", "b"],
    "selected": True,
    "below": 0.0,
    "seconds": 2.0,
    "bound": 3.0,
    "gap": 0.0,
}
BEST = "The best known subset is a, b; the selected one is 2.4\u00a0% below."
PROOFS = {
    "proven": (
        {},
        "Proven: no other 3 features have a larger Fisher ratio on the training rows. (This",
    ),
    "another is the best": (
        {"selected": False, "below": 0.024, "smaller_loss": True},
        "By Fisher ratio, the best subset on the training rows is a, b (proven). The selected one "
        "is 2.4\u00a0% below and has the smaller loss.",
    ),
    "bounded": (
        {"proven": False, "gap": 0.05},
        "Not proven in 2.0 s: no other 3 features have a Fisher ratio more than 5.0\u00a0% larger.",
    ),
    "another is known": (
        {"proven": False, "gap": 0.05, "selected": False, "below": 0.024},
        f"more than 5.0\u00a0% larger. {BEST}",
    ),
    # Not "5.6e+08 % higher".
    "useless": (
        {"proven": False, "gap": 5.6e6},
        "Not proven in 2.0 s, and no useful bound is known.",
    ),
}


@pytest.mark.parametrize("name", PROOFS)
def test_what_a_proof_says(case, name):
    result = case("two").report.to_dict()
    change, wanted = PROOFS[name]
    result["search"]["proof"] = PROOF | change
    assert wanted in text.proof(result)


def test_a_proof_without_a_bound_and_one_of_all_features(case):
    result = case("two").report.to_dict()
    result["search"]["proof"] = {k: v for k, v in PROOF.items() if k != "gap"} | {"proven": False}
    assert "no useful bound" in text.proof(result)
    result["data"]["n_features"] = 3
    assert text.proof(result) == "Nothing to prove: all features are selected."


def test_what_the_stability_bounds(case):
    result = case("two").report.to_dict()
    result["search"]["stability"] = {"index": [0.8, 0.7, 0.9], "n": 50, "expected_errors": 0.456}
    assert text.stability(result).endswith(
        "50 half-samples agree. Expected number of unstable features (no more likely to be "
        "selected than the average feature) among those in 90\u00a0% of the half-samples: at most "
        "0.46 (Shah and Samworth 2013)."
    )


def test_what_the_size_says(case):
    result = copy.deepcopy(case("two").report.to_dict())
    result["rule"] = {"name": "one_sd", "k": 2, "others": {"one_se": 4, "best": 4}, "range": [2, 4]}
    result["sizes"] = [{"k": k, "score": s} for k, s in ((1, 0.6), (2, 0.71), (3, 0.7), (4, 0.72))]
    # Each size is named; not "would take 12 (the best), tolerance as many".
    assert text.size(result) == (
        "2 is the smallest size within one standard deviation of the best AUC. 2 features reach "
        "0.710; 4, the best size, reach 0.720. one_se takes 4 and best takes 4. The size is "
        "uncertain: leaving out one split gives 2 to 4."
    )
    result["rule"] = {"name": "one_se", "k": 3, "others": {}, "near_perfect": True}
    assert text.size(result).startswith(
        "3 is the smallest size whose AUC is within half a test row of a perfect score."
    )
    assert text.size(case("constraints").report.to_dict()) == (
        "3 features were asked for; criterion: Fisher ratio and log-loss."
    )


def test_the_headline_claims_no_more_than_the_scores(case):
    assert text.headline(case("two").report.to_dict()).startswith("3 of 8 features predict late: ")
    assert "not better than chance for coin" in text.headline(case("chance").report.to_dict())
    result = case("two").report.to_dict()
    result["data"]["n_features"] = 3
    assert text.headline(result).startswith("All 3 features predict late")
    for each in result["features"][1:]:
        each["selected"] = False
    assert text.headline(result).startswith("1 of 3 features predicts late: ")
    result["data"]["n_features"] = 1
    assert text.headline(result).startswith("The only feature predicts late: ")

"""Sentences and numbers of a result, once: for the terminal, the page, warnings and reprs.

A result is the dictionary that `safdr.Report.to_dict` returns.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

Result = Mapping[str, Any]

# Longer whole numbers are written with a power of ten.
LONGEST_WHOLE = 1e9
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Characters of a name in a sentence.
LONGEST_NAME = 48
# Invisible characters that names may need: joiners of emoji and of scripts.
JOINERS = "\u200c\u200d"
# A gap between value and bound that says nothing.
USELESS_GAP = 1.0

SCORES = {
    **{"roc_auc": "AUC", "roc_auc_ovr": "mean AUC", "r2": "R²"},
    **dict.fromkeys(("explained_poisson_deviance", "explained_gamma_deviance"), "D²"),
}
LOSSES = {"cross_entropy": " and log-loss"}
CRITERIA = {"fisher": "Fisher ratio", "r2": "R²", "score": "score statistic"}
EFFECTS = {
    **{"logit": "log-odds", "softmax": "score of the class", "identity": "prediction"},
    **{"log": "logarithm of the prediction", "log_hazard": "log hazard"},
}
RULES = {
    "one_se": "the smallest size within one standard error of the best {score}",
    "one_sd": "the smallest size within one standard deviation of the best {score}",
    "best": "the size with the best {score}",
}
# Nogueira, Sechidis and Brown (2018) call an index above 0.75 excellent, below 0.4 poor.
AGREEMENT = ((0.75, "agree"), (0.4, "agree only in part"), (-math.inf, "hardly agree"))


# ---- Numbers ------------------------------------------------------------------------------------


def fixed(value: float, places: int = 3) -> str:
    """Write a number with a fixed number of decimal places."""
    text = f"{value:,.{places}f}"
    return (text.lstrip("-") if not text.strip("-0.,") else text).replace("-", "−")


def number(value: float, digits: int = 4) -> str:
    """Write a number with `digits` significant digits; very large or small ones with a power.

    Its spaces do not break.
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value).replace("-", "−")
    if 10 ** min(digits, 3) <= abs(value) < LONGEST_WHOLE:
        return fixed(value, max(0, digits - 1 - math.floor(math.log10(abs(value)))))
    mantissa, _, exponent = f"{value:#.{digits}g}".partition("e")
    power = f"\u00a0×\u00a010{str(int(exponent)).translate(SUPERSCRIPT)}" if exponent else ""
    return mantissa.removesuffix(".").replace("-", "−") + power


def signed(value: float, places: int = 2) -> str:
    """Write a change with its sign; a change that rounds to zero has none."""
    text = fixed(value, places)
    return f"+{text}" if value > 0 and text.strip("0.,") else text


def percent(share: float, places: int = 0) -> str:
    """Write a share as a percentage, with a space that does not break."""
    return f"{fixed(100 * share, places)}\u00a0%"


def shortfall(share: float) -> str:
    """Write a share with two digits, small ones as a bound."""
    return "less than 0.01\u00a0%" if share < 1e-4 else f"{number(100 * share, 2)}\u00a0%"


def p_value(value: float) -> str:
    """Write a p-value for a table."""
    return "< 0.001" if value < 1e-3 else f"{value:.2g}"


def count(n: int, noun: str) -> str:
    """Write a number with its noun."""
    plural = noun + "s" if noun[-1] not in "sx" else noun + "es"
    return f"{n:,} {noun if n == 1 else plural}"


def seconds(value: float) -> str:
    """Write a time."""
    return f"{value:.1f} s" if value < 100 else f"{value / 60:.0f} min"


def interval(values: list[float], places: int = 3) -> str:
    """Write the ends of a 95 % interval."""
    return f"{fixed(values[1], places)} to {fixed(values[2], places)}"


# ---- Names --------------------------------------------------------------------------------------


def one_line(name: Any) -> str:
    """Write an untrusted name on one line, control and direction characters made visible."""
    return "".join(_visible(each) for each in str(name)) or "(no name)"


def _visible(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and (
        character not in JOINERS
    ):
        return f"\\u{ord(character):04x}"
    return character


def shortened(name: Any, width: int = LONGEST_NAME) -> str:
    """Write a name in at most `width` characters; of a longer one both ends."""
    text = one_line(name)
    if len(text) <= width:
        return text
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[-half:]}"


def joined(names: Iterable[Any], limit: int = 6) -> str:
    """Write names with commas; beyond `limit` the rest is counted."""
    known = [shortened(name) for name in names]
    if len(known) <= limit:
        return ", ".join(known)
    return f"{', '.join(known[: limit - 1])} and {len(known) - limit + 1} more"


# ---- The result ---------------------------------------------------------------------------------


def score_name(result: Result) -> str:
    """Return the name of the score."""
    return score_label(result["score"]["name"])


def score_label(name: str) -> str:
    """Return the name of a score of scikit-learn as it is written."""
    return SCORES.get(name, one_line(name).replace("neg_", "negative ").replace("_", " "))


def criterion_name(result: Result) -> str:
    """Return the name of the criterion."""
    name = result["search"]["criterion"]
    return CRITERIA.get(name, one_line(name))


def effect_name(result: Result) -> str:
    """Return what a coefficient changes."""
    effect = EFFECTS.get(result["model"].get("link", ""), "score")
    if effect == "log-odds":
        effect += f" of {target_name(result)} = {shortened(result['target']['classes'][-1])}"
    return effect


def references(result: Result) -> str:
    """Return the values of categories that have no coefficient."""
    used = {term["column"] for term in result["model"].get("terms", []) if "equals" in term}
    columns = result["data"].get("columns", [])
    found = [c for c in columns if c["name"] in used and "reference" in c]
    shown = joined(f"{c['name']} = {c['reference']}" for c in found)
    return f"Reference values, with coefficient 0: {shown}." if found else ""


def filled(result: Result) -> str:
    """Return how many missing values of the training rows were filled in which columns."""
    columns = result["data"].get("columns", [])
    counts = [(c["name"], c["n_missing"]) for c in columns if c["used"] and "n_missing" in c]
    shown = joined(f"{name} {n:,}" for name, n in counts)
    return f"Missing values filled in training rows: {shown}." if counts else ""


def target_name(result: Result) -> str:
    """Return the name of the target."""
    return shortened(result["target"].get("name", "the target"))


def selected(result: Result) -> list[str]:
    """Return the names of the selected features."""
    return [each["name"] for each in result["features"] if each["selected"]]


def headline(result: Result) -> str:
    """Return the answer in one line."""
    names, n = selected(result), result["data"]["n_features"]
    k, target = len(names), target_name(result)
    subject = f"All {n} features" if k == n > 1 else f"{k} of {count(n, 'feature')}"
    if k == n == 1:
        subject = "The only feature"
    if any(each["kind"] == "chance" for each in result["warnings"]):
        return f"{subject} selected, not better than chance for {target}: {joined(names)}"
    return f"{subject} predict{'s' if k == 1 else ''} {target}: {joined(names)}"


def scores(result: Result) -> list[tuple[str, str, str]]:
    """Return the scores: name, value, and the rows they are measured on."""
    score, name, data = result["score"], score_name(result), result["data"]
    listed = []
    if "test" in score:
        ends = f", 95 % interval {interval(score['test'])}" if len(score["test"]) == 3 else ""
        where = f"held-out rows ({count(data['n_test'], 'row')}{ends})"
        listed.append((name, fixed(score["test"][0]), where))
    if "cv" in score:
        mean, sd = score["cv"]
        where = f"cross-validation (± {fixed(sd)} over {count(score['n_splits'], 'split')})"
        listed.append((name, fixed(mean), where))
    if "all_features" in score:
        where = "held-out rows" if "test" in score else "cross-validation"
        where = f"all {count(data['n_features'], 'feature')} ({where}, penalised model)"
        listed.append((name, fixed(score["all_features"]), where))
    return listed


def size(result: Result) -> str:
    """Return how the number of features was selected."""
    if "rule" not in result:
        k, name = len(selected(result)), criterion_name(result)
        name += LOSSES.get(result["search"]["loss"]["name"], "")
        return f"{count(k, 'feature')} {'was' if k == 1 else 'were'} asked for; criterion: {name}."
    rule, name, sizes = result["rule"], score_name(result), result["sizes"]
    k, scores = rule["k"], {each["k"]: each["score"] for each in sizes}
    why = RULES.get(rule["name"], f"the choice of the rule {one_line(rule['name'])}")
    if "near_perfect" in rule:
        why = "the smallest size whose {score} is within half a test row of a perfect score"
    sentences = [f"{k} is {why.format(score=name)}."]
    if scores[k] < (best := max(scores.values())):
        at = next(size for size, score in scores.items() if score == best)
        sentences.append(
            f"{count(k, 'feature')} reach{'es' if k == 1 else ''} {fixed(scores[k])}; {at}, the "
            f"best size, reach{'es' if at == 1 else ''} {fixed(best)}."
        )
    others = [f"{name} takes {at}" for name, at in rule.get("others", {}).items() if at != k]
    sentences += [f"{' and '.join(others)}."] if others else []
    if "range" in rule:
        low, high = rule["range"]
        span = f"{low} to {high}" if low < high else f"{low}"
        sentences.append(f"The size is uncertain: leaving out one split gives {span}.")
    return " ".join(sentences)


def proof(result: Result) -> str:
    """Return what is proven of the selected subset by the criterion."""
    found = result["search"].get("proof", {"note": ""})
    if "note" in found:
        return f"Not proven: {found['note']}" if found["note"] else ""
    k, name = len(selected(result)), criterion_name(result)
    if k == result["data"]["n_features"]:
        return "Nothing to prove: all features are selected."
    no_other = "no other feature has" if k == 1 else f"no other {k} features have"
    best = joined(found["features"], 12)
    loss = " and has the smaller loss" if found.get("smaller_loss") else ""
    below = f"{shortfall(found['below'])} below{loss}."
    if found["proven"] and found["selected"]:
        about = "on the training rows. (This says nothing about new rows.)"
        return f"Proven: {no_other} a larger {name} {about}"
    if found["proven"]:
        lead = f"By {name}, the best subset on the training rows is {best} (proven)."
        return f"{lead} The selected one is {below}"
    lead = f"Not proven in {seconds(found['seconds'])}"
    if found.get("gap", math.inf) > USELESS_GAP:
        return f"{lead}, and no useful bound is known."
    lead = f"{lead}: {no_other} a {name} more than {shortfall(found['gap'])} larger."
    if found["selected"]:
        return lead
    return f"{lead} The best known subset is {best}; the selected one is {below}"


def near(result: Result) -> str:
    """Return how many subsets come near the best one by the criterion."""
    found = result["search"].get("near")
    if found is None or "note" in found or len(selected(result)) == result["data"]["n_features"]:
        return ""
    least = "" if found["complete"] else "At least "
    n, share = found["n"], f"{100 * found['rtol']:g}"
    text = f"{least}{count(n, 'subset')} within {share}\u00a0% of the best {criterion_name(result)}"
    if n > 1 and found["in_all"]:
        return f"{text}, all with {joined(found['in_all'])}."
    return f"{text}."


def stability(result: Result) -> str:
    """Return how far half-samples agree."""
    found = result["search"].get("stability")
    if found is None or "index" not in found:
        return found.get("note", "") if found else ""
    value, low, high = found["index"]
    agree = next(text for least, text in AGREEMENT if value >= least)
    more = ""
    if "expected_errors" in found:
        n = number(found["expected_errors"], 2)
        more = (
            " Expected number of unstable features (no more likely to be selected than the average"
            f" feature) among those in 90\u00a0% of the half-samples: at most {n} (Shah and"
            " Samworth 2013)."
        )
    return (
        f"Stability {fixed(value, 2)} ({fixed(low, 2)} to {fixed(high, 2)}; 0 = chance, 1 = always"
        f" the same): {found['n']} half-samples {agree}.{more}"
    )


def often(result: Result) -> str:
    """Return how many half-samples selected each feature."""
    n = result["search"].get("stability", {}).get("n", 0)
    rates = {f["name"]: f["frequency"][0] for f in result["features"] if "frequency" in f}
    if not rates:
        return ""
    ranked = sorted(rates, key=lambda name: -rates[name])
    shown = ", ".join(f"{shortened(name)} {round(rates[name] * n)}" for name in ranked[:8])
    return f"In {n} half-samples: {shown}{', …' if len(ranked) > 8 else '.'}"


def swaps(result: Result) -> str:
    """Return the cost of the best replacement of each selected feature."""
    known = [each for each in result["features"] if "swap" in each]
    known = sorted(known, key=lambda each: -each["swap"]["score"])[:4]
    parts = [
        f"{shortened(each['swap']['name'])} for {shortened(each['name'])}"
        f" {signed(each['swap']['score'], 4)}"
        for each in known
    ]
    return f"Change of {score_name(result)}: {', '.join(parts)}." if parts else ""


def calibration(result: Result) -> str:
    """Return whether predictions and observed values agree on the held-out rows."""
    bins = result.get("test", {}).get("bins")
    if not bins:
        return ""
    off = [each for each in bins if not each["low"] <= each["predicted"] <= each["high"]]
    if not off:
        return "No group of held-out rows contradicts its prediction."
    worst = max(off, key=lambda each: abs(each["observed"] - each["predicted"]))
    write = number if result["target"]["task"] == "regression" else percent
    return (
        f"In {len(off)} of {len(bins)} groups of held-out rows the observed value differs from the "
        f"predicted one (worst: {write(worst['predicted'])} predicted, {write(worst['observed'])} "
        f"observed)."
    )


def survival(result: Result) -> str:
    """Return how many held-out rows have an event, by thirds of the risk."""
    thirds = result.get("test", {}).get("survival", [])
    parts = [f"{each['events']} of {each['n']} with {each['risk']} risk" for each in thirds]
    return f"Held-out rows with an event: {', '.join(parts)}." if parts else ""


def coefficients(result: Result) -> str:
    """Return whether the coefficients hold on the held-out rows."""
    test = result.get("test", {})
    if "coefficients" not in test:
        return ""
    known = [each for each in test["coefficients"] if "low" in each]
    off = sum(not each["low"] <= each["model"] <= each["high"] for each in known)
    return (
        "The same features, refitted on the held-out rows without a penalty. "
        f"{off} of {count(len(known), 'coefficient')} of the model"
        f" {'is' if off == 1 else 'are'} outside the 95 % interval; one in twenty is by chance."
    )


def warning(found: Mapping[str, Any]) -> str:
    """Return a warning with its advice."""
    return f"{found['text']} {found['advice']}"


def short(result: Result) -> str:
    """Return the repr of a report."""
    value = "".join(f", {name} {value}" for name, value, _ in scores(result)[:1])
    k, n = len(selected(result)), result["data"]["n_features"]
    return f"Report({k} of {n} features{value})"

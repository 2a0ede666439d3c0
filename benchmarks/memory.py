"""Peak memory of fresh processes: the import, a fit, cross-validation, and rows in chunks."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.rows import write

JOBS = {
    "import": "import safdr; safdr.AnnealingSelectorCV",
    "rows": "from benchmarks.blocks import blocks; blocks(50_000, 200)",
    "fit": "from benchmarks.blocks import blocks; from safdr import AnnealingSelector\n"
    "p = blocks(50_000, 200); AnnealingSelector(10, random_state=0).fit(p.X, p.y)",
    "cross-validation": "from benchmarks.blocks import blocks\n"
    "from safdr import AnnealingSelectorCV\n"
    "p = blocks(50_000, 200); AnnealingSelectorCV(10, random_state=0).fit(p.X, p.y)",
    "parquet": "from benchmarks.streaming import fit_files; fit_files(1_000_000, 50)",
}


def peak_megabytes(code: str) -> tuple[float, str]:
    """Run code in a fresh process; return its peak memory and its last printed line."""
    report = "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    *printed, peak = done.stdout.split("\n")[:-1]
    return float(peak), printed[-1] if printed else ""


def main() -> None:
    """Write one row for each job."""
    rows = [{"job": name, "peak_mb": round(peak_megabytes(code)[0])} for name, code in JOBS.items()]
    write("memory", rows)

"""Print the oldest versions that pyproject.toml allows users to have, as constraints for pip."""

import re
import tomllib
from pathlib import Path

settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
# The tests of the GPU ask for one torch, which has a build without a GPU's libraries.
extras = settings["project"]["optional-dependencies"]
wanted = settings["project"]["dependencies"]
wanted += [one for name, own in extras.items() if name != "gpu" for one in own]
# No dependency, but users' frames are its: the oldest scikit-learn sees no names in those of today.
wanted += [one for one in settings["dependency-groups"]["test"] if one.startswith("polars")]
for name, floor in sorted(set(re.findall(r"^([\w-]+).*>=([\w.]+)$", "\n".join(wanted), re.M))):
    print(f"{name}=={floor}")

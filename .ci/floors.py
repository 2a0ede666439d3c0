"""Print the oldest versions that pyproject.toml allows users to have, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
# The tests of the GPU ask for one torch, which has a build without a GPU's libraries.
extras = {name: own for name, own in project["optional-dependencies"].items() if name != "gpu"}
wanted = project["dependencies"] + [one for extra in extras.values() for one in extra]
for name, floor in sorted(set(re.findall(r"^([\w-]+).*>=([\w.]+)$", "\n".join(wanted), re.M))):
    print(f"{name}=={floor}")

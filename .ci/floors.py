"""Print the oldest versions that pyproject.toml allows users to have, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
wanted = project["dependencies"] + [
    one for extra in project["optional-dependencies"].values() for one in extra
]
for name, floor in sorted(set(re.findall(r"^([\w-]+).*>=([\w.]+)$", "\n".join(wanted), re.M))):
    print(f"{name}=={floor}")

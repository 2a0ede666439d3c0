"""The first random files, and those that failed once; make fuzz does more from seed 0 on."""

import pytest

pytest.importorskip("cyclopts")
pytest.importorskip("rich")
pa = pytest.importorskip("pyarrow")

# Types that came one by one.
if not all(hasattr(pa, name) for name in ("bool8", "json_", "uuid", "opaque", "decimal32")):
    pytest.skip("this pyarrow has not all types", allow_module_level=True)


# The last two: damaged files, and codes that come first in lines that end as on an old Macintosh.
@pytest.mark.parametrize("seeds", [range(10), [82, 1140]])
def test_random_files_are_read_or_refused_clearly(seeds):
    from fuzz import files
    from fuzz.__main__ import failure

    failures = [text for seed in seeds if (text := failure(files.check, seed)) is not None]
    assert not failures, failures[0]

"""The paper's experiments: data, protocol, baselines, rows, table and figures; not in the wheel."""

"""Checks for criteria, objectives and chains of your own: each is one line in a test."""

from safdr.testing.chains import all_subsets, check_chains
from safdr.testing.contract import ContractError
from safdr.testing.criterion import check_criterion
from safdr.testing.objective import check_objective

__all__ = ["ContractError", "all_subsets", "check_chains", "check_criterion", "check_objective"]

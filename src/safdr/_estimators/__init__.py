"""Estimators and functions of the public interface."""

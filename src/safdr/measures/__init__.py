"""Measures of predictions: arrays of outcomes and predictions become plain numbers."""

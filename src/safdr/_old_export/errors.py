"""What can go wrong with an export."""


class ExportError(Exception):
    """The model can't be written down in this form."""


class WrongFormulaError(ExportError):
    """What was written down does not give the numbers of the model."""

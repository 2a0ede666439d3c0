"""Data, slow references and adapters that several test files share."""

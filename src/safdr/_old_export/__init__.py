"""The scoring formula as a file that needs none of this library: Python, SQL or ONNX."""

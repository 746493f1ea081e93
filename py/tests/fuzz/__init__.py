"""Random programs and damaged files, checked against a reference of its own: see docs/testing.md."""

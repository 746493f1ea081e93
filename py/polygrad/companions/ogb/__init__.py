"""The Open Graph Benchmark: its datasets, from files of its layout, and what its evaluators measure."""

"""torch_geometric.contrib: what others have added to PyTorch Geometric."""

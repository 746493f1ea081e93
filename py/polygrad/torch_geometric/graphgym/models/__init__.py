"""torch_geometric.graphgym.models: the encoders of features."""

"""torch_geometric.graphgym: the encoders of features (`models.encoder`), which models outside of GraphGym use too."""

"""ogb.utils: how many values the features of atoms and bonds have."""

"""torchmetrics: the measures of segmentation that examples of PyTorch Geometric use, in `torchmetrics.functional`."""

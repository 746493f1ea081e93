"""The methods of Tensor, one file a subject."""

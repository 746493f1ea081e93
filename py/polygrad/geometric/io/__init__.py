"""Readers and writers of files: tables of text, meshes, molecules, and the formats of the usual datasets."""

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "txt_array": ["parse_txt_array", "read_txt_array"],
        "meshes": ["read_obj", "read_off", "read_ply", "write_off"],
        "sdf": ["parse_sdf", "read_sdf"],
        "sets": ["parse_npz", "read_npz", "read_planetoid_data", "read_tu_data"],
    },
)

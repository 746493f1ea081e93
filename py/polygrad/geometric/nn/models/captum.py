"""Models as the library Captum calls them: see `explain.algorithm.captum`."""

from ...explain.algorithm.captum import captum_output_to_dicts, to_captum_input, to_captum_model

__all__ = ["captum_output_to_dicts", "to_captum_input", "to_captum_model"]

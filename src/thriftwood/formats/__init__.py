"""Files of models and of samples: read, written and recognised, one file per format.

Law: what is written predicts what the model predicts, for every sample, missing and infinite values
included, up to the rounding that the format's own numbers bring; what is read predicts what the
file's own library predicts. What a format cannot hold is refused. Reading runs no code that a file
brings along unless the caller trusts it, and a file is written whole or not at all.
"""

import lazy_loader

from thriftwood.formats.registry import EXPORTED, FORMATS, READ, Format, suffixes_of

__getattr__, __dir__, _ = lazy_loader.attach(__name__, ["export", "models", "tables"])

__all__ = ["EXPORTED", "FORMATS", "READ", "Format", "export", "models", "suffixes_of", "tables"]

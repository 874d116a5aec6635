"""Files of models and of samples: read, written and recognised, one file per format."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["export", "models", "tables"])

"""Files of models and of samples: read, written and recognised, one file per format."""

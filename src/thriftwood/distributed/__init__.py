"""BootstrapSamples in partitions, local or on Dask; dual decomposition; subsampling."""

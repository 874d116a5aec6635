"""Attacks on Thriftwood: random forests, damaged files, interrupts and kills, by `make fuzz`.

Law: what is right is computed here, apart from the package, of which only public names are used.
"""

"""Models in files, whatever library wrote them.

Law of this folder: what is read predicts what the file's own library predicts, reading runs no code
that a file brings along unless the caller trusts it, and a file is written whole or not at all.
"""

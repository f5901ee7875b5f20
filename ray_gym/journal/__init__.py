"""The journal writes calls down as they happen, so that an episode whose worker died goes on from its last call.

`frames` is the file format, `records` what is in it, `journal` the one writer of a file, `places` what of it is still
needed, `history` what a file's readers get, `replay` how recorded calls are answered again.
"""

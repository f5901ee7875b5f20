"""Records calls as they happen, so that an episode whose worker died is resumed from its last call.

`frames` is the file format, `records` are its contents, `journal` writes a file, `places` tracks the records that are
still needed, `history` reads files, and `replay` answers calls again from their records.
"""

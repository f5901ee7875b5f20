"""Names the versions of TRL that the bridge was tested with."""

TESTED = ("1.16.0",)

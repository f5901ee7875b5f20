"""Names the versions of verl that the bridge was tested with."""

TESTED = ("0.9.1",)

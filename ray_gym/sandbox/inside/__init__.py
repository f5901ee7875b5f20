"""Runs inside of a sandbox as its supervisor, which starts programs for the worker, watches them and ends them.

It reads requests from its standard input and answers on its standard output (`frames`). In a PID namespace it is
process 1, which no program of the sandbox can kill or trace. It ends when its standard input is closed, as it is
however the worker dies; then the kernel ends the namespace with all that is in it.

The package is bound into sandboxes and images, and is run by the Python there: it imports the standard library alone,
works from Python 3.9 on, and its imports are relative. What costs time at a start (`asyncio`, `subprocess`, `typing`)
is not imported.
"""

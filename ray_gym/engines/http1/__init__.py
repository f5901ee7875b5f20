"""Speaks HTTP/1.1 for thousands of model calls in flight: to one server, with one request after another on each
connection.

aiohttp takes 0.1 ms of the event loop for a call, which was 40% of all that a call costs here; this takes a quarter of
that (benchmarks/README.md). The hard parts are left to libraries: llhttp reads messages (`httptools`),
`aiohappyeyeballs` tries addresses.

Proxies, redirects, compression and streams are not spoken: see `ray_gym.engines.endpoint`.
"""

"""Sends HTTP/1.1 requests (RFC 9112) for thousands of model calls in flight: to one server, with one request after
another on each connection.

aiohttp takes 0.1 ms of the event loop for a call, which was 40% of the CPU time of a call; this takes a quarter of that
(benchmarks/README.md). Libraries do the hard parts: llhttp parses messages (`httptools`), `aiohappyeyeballs` tries
addresses.

Redirects and compression are not supported, nor are proxies and streams, for which `ray_gym.engines.proxied` uses
aiohttp.
"""

"""Runs an MCP server that counts, on standard input and output, by the standard library alone: it starts fast. Its
arguments are its faults: `garbage`, `exit`, `silent`, `pages`, `broken`, `deep`, `huge`, `odd`, `long`.
"""

import json
import os
import sys
import time
from pathlib import Path

FAULTS = set(sys.argv[1:])
COUNT = 0


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(*texts, error=False, **more):
    return {"content": [{"type": "text", "text": one} for one in texts], "isError": error, **more}


def tools():
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    names = [
        "add",
        "note",
        "fail",
        "refuse",
        "die",
        "die_once",
        "sleep",
        "picture",
        "structured",
        "much",
        "env",
        "pid",
        "reset",
        "grade",
        "halves",
    ]
    found = [{"name": name, "description": f"{name} it", "inputSchema": {"type": "object"}} for name in names]
    found[0]["inputSchema"] = schema
    if "broken" in FAULTS:
        found[0]["inputSchema"] = {"type": "object", "properties": {"a": {"type": "whole"}}}
    if "huge" in FAULTS:
        found[0]["description"] = "x" * 200_000
    if "odd" in FAULTS:
        found[0]["name"] = "files.read/all"
    if "long" in FAULTS:
        found[0]["name"] = "x" * 65
    if "deep" in FAULTS:
        for _ in range(400):
            schema = {"type": "object", "properties": {"a": schema}}
        found[0]["inputSchema"] = schema
    return found


def call(name, given):
    global COUNT
    marks = Path(os.environ.get("MARKS", "/nonexistent"))
    if marks.is_dir():
        with (marks / "calls").open("a") as file:
            file.write(f"{name} {json.dumps(given)}\n")
    if name == "add":
        COUNT += given["amount"]
        return text(f"count {COUNT}" + ("!" if (marks / "changed").exists() else ""))
    if name == "reset":
        COUNT = given["start"]
    if name == "grade":
        return text(str(float(given["goal"] == COUNT)))
    if name == "note":
        return text(f"noted at {time.time_ns()}")
    if name == "fail":
        return text("no such file", error=True)
    if name == "die" or (name == "die_once" and not (marks / "died").exists()):
        if name == "die_once":
            (marks / "died").write_text("")
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "sleep":
        time.sleep(60)
    if name == "picture":
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, *text("a cat")["content"]]}
    if name == "structured":
        return {"content": [], "structuredContent": {"reward": 0.5}}
    if name == "much":
        return text("x" * 20_000_000)
    if name == "halves":
        return text("a\ud83d b")
    if name == "env":
        return text(json.dumps(sorted(os.environ)))
    if name == "pid":
        return text(str(os.getpid()))
    return text(f"{COUNT} of {name}")


def answer(message):
    number, method, params = message["id"], message["method"], message.get("params") or {}
    if method == "initialize":
        capabilities = {"tools": {}}
        info = {"name": "plain", "version": "1"}
        version = params["protocolVersion"]
        return say(
            {"id": number, "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}}
        )
    if method == "tools/list":
        more = {"nextCursor": "again"} if "pages" in FAULTS else {}
        return say({"id": number, "result": {"tools": tools(), **more}})
    if method == "tools/call" and params["name"] == "refuse":
        return say({"id": number, "error": {"code": -32050, "message": "not on Sundays"}})
    if method == "tools/call":
        return say({"id": number, "result": call(params["name"], params.get("arguments") or {})})
    return say({"id": number, "error": {"code": -32601, "message": "no such method"}})


if "exit" in FAULTS:
    print("no licence\nset LICENCE=...", file=sys.stderr)
    sys.exit(4)
if "garbage" in FAULTS:
    print("Listening on stdio...\n{broken", flush=True)
for line in sys.stdin:
    if "silent" not in FAULTS and "id" in json.loads(line):
        answer(json.loads(line))
    if "garbage" in FAULTS:
        print("DEBUG handled", flush=True)

"""A page that takes a file of predictions and prints the checked table of `siming score`.

The data set and, where its labels are withheld, its label file are named by SPACE_DATA and SPACE_LABELS; a file is
scored in a process of its own, with limits, and is then gone.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

MOST_BYTES = 20_000_000
SECONDS = 300
AT_ONCE = asyncio.Semaphore(1)
"""One file is scored at a time; the others wait."""

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>SiMing-Bench: check predictions</title>
<meta name="viewport" content="width=device-width">
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{overflow:auto}</style>
<h1>SiMing-Bench: check predictions</h1>
<p><label>A prediction file (.jsonl), one line for each request: <input type="file" id="file"></label></p>
<pre id="out" aria-live="polite"></pre>
<script>
document.getElementById("file").onchange = async (event) => {
  const out = document.getElementById("out");
  out.textContent = "Scoring ...";
  const reply = await fetch("score", {method: "POST", body: event.target.files[0]});
  out.textContent = await reply.text();
};
</script></html>"""


async def page(request: Request) -> Response:
    """The page, whose script writes text alone."""
    return HTMLResponse(PAGE, headers={"content-security-policy": "default-src 'self' 'unsafe-inline'"})


async def score(request: Request) -> Response:
    """The table of a posted file, or the sentence that says what is wrong with it (422)."""
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            return PlainTextResponse(f"The file has more than {MOST_BYTES:,} bytes.", 413)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "predictions.jsonl")
        file.write_bytes(content)
        labels = ["--labels", os.environ["SPACE_LABELS"]] if os.environ.get("SPACE_LABELS") else []
        code = "import sys; from siming_tasks.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "score", os.environ["SPACE_DATA"], file.name, *labels]
        async with AT_ONCE:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
            try:
                table, error = await asyncio.wait_for(process.communicate(), SECONDS)
            except asyncio.TimeoutError:
                process.kill()
                await process.wait()
                return PlainTextResponse(f"Scoring took more than {SECONDS} s.", 422)
    text = (table + b"\n" * bool(error) + error).decode("utf-8", "replace")
    return PlainTextResponse(text, 422 if process.returncode else 200)


app = Starlette(routes=[Route("/", page), Route("/score", score, methods=["POST"])])

if __name__ == "__main__":
    uvicorn.run(app, host=os.environ.get("SPACE_HOST", "0.0.0.0"), port=int(os.environ.get("SPACE_PORT", "7860")))

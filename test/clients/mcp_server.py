"""An MCP server made with the Python SDK, version 1 (FastMCP) or 2 (MCPServer): python mcp_server.py <transport> <port> [flags]."""
import asyncio
import sys

from mcp.types import ImageContent

try:
    from mcp.server.fastmcp import Context, FastMCP as Server
    newer = False
except ModuleNotFoundError:
    from mcp.server import MCPServer as Server
    from mcp.server.mcpserver import Context
    newer = True

transport, port, flags = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
settings = {"port": port, "stateless_http": "stateless" in flags, "json_response": "json" in flags}
server = Server("python", **({} if newer or transport == "stdio" else settings))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def weather(city: str) -> dict[str, str]:
    """Tells the weather."""
    return {"city": city, "sky": "clear"}


@server.tool()
def picture() -> ImageContent:
    """Shows a pixel."""
    return ImageContent(type="image", data=PIXEL, mimeType="image/png") if not newer else ImageContent(
        type="image", data=PIXEL, mime_type="image/png"
    )


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Tells its progress."""
    for step in range(1, count + 1):
        await ctx.report_progress(step, count)
        await asyncio.sleep(0.02)
    return f"{count} steps"


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("It went wrong.")


if newer and transport == "streamable-http":
    server.run(transport, port=port, stateless_http="stateless" in flags, json_response="json" in flags)
elif newer and transport == "sse":
    server.run(transport, port=port)
else:
    server.run(transport)

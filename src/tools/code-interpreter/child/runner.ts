/** The Python side of a run: evaluates the code in `__main__` and converts the result to text. */

/** Defines `run(code, limit)`, which returns the result or the traceback and never raises; `limit` is in characters. */
export const RUNNER = `
import linecache
import sys
import traceback
import __main__
from pyodide.code import eval_code_async

_cells = 0
_HINT = "Only Python's standard library can be imported here; nothing can be installed."


async def run(code, limit):
    global _cells
    _cells += 1
    cell = f"<cell {_cells}>"
    # So that tracebacks show the lines.
    linecache.cache[cell] = (len(code), None, code.splitlines(True), cell)
    try:
        value = await eval_code_async(code, __main__.__dict__, filename=cell)
        return None if value is None else repr(value)[:limit], None
    except BaseException as error:
        return None, _traceback_text(error, cell)[-limit:]
    finally:
        _flush()


def _traceback_text(error, cell):
    # Frames above the cell are this runner's own, which the model need not see.
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename != cell:
        frames = frames.tb_next
    if isinstance(error, ModuleNotFoundError):
        error.add_note(_HINT)
    return "".join(traceback.format_exception(type(error), error, frames))


def _flush():
    # The code may have put anything in their place.
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:
            pass
`;

/** The program that runs in a container of Docker or Podman: CPython behind the same frames as the Pyodide process. */
import { FRAME_BYTES, KINDS } from '../shared/kinds.ts';

/** What it receives on its command line, as JSON. */
export interface RunnerSettings {
  /** Where the code runs, and which files count. */
  readonly folder: string;
  readonly outputBytes: number;
  readonly fileBytes: number;
  readonly files: number;
}

/** How frames are read and written; nothing else here knows what they look like. */
const WIRE = `
KINDS = ${JSON.stringify(KINDS)}
FRAME_BYTES = ${FRAME_BYTES}
HEADER = struct.Struct(">BII")


class Wire:
    def __init__(self, source, target):
        self.source = source
        self.target = target

    def exactly(self, count):
        data = self.source.read(count)
        if len(data) < count:
            # The host has closed the channel, or has died.
            os._exit(0)
        return data

    def question(self):
        fields = {}
        while True:
            kind, question_id, length = HEADER.unpack(self.exactly(HEADER.size))
            data = self.exactly(length)
            if KINDS[kind] == "done":
                return question_id, fields
            fields[KINDS[kind]] = fields.get(KINDS[kind], b"") + data

    def answer(self, question_id, fields):
        for kind, data in [*fields, ("done", b"")]:
            for at in range(0, max(len(data), 1), FRAME_BYTES):
                part = data[at : at + FRAME_BYTES]
                self.target.write(HEADER.pack(KINDS.index(kind), question_id, len(part)) + part)
        self.target.flush()
`;

/**
 * The code's names are kept apart from the runner's, its standard streams are pipes that the runner reads, and a thread
 * waits for questions, so that the program ends when the channel closes even while code runs.
 */
export const PYTHON_RUNNER = `
import array, ast, asyncio, fcntl, hashlib, inspect, json, linecache, os, queue, select, stat, struct, sys, termios, threading, traceback, types
${WIRE}

class Capture:
    """What is written to a descriptor, by whatever process, up to a limit."""

    def __init__(self, descriptor, limit):
        self.limit = limit
        self.data, self.total = b"", 0
        self.lock = threading.Lock()
        # Its own end for writing stays open, so that there is no end of the file when the code closes the descriptor.
        self.end, self.write = os.pipe()
        os.set_blocking(self.end, False)
        os.dup2(self.write, descriptor, inheritable=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            select.select([self.end], [], [])
            self.read()

    def read(self):
        with self.lock:
            try:
                data = os.read(self.end, 65536)
            except BlockingIOError:
                return
            self.total += len(data)
            self.data += data[: self.limit - len(self.data)]

    def take(self):
        waiting = array.array("i", [1])
        # Not until it is empty: what the code has left running may write for ever.
        for _ in range(64):
            self.read()
            fcntl.ioctl(self.end, termios.FIONREAD, waiting)
            if not waiting[0]:
                break
        with self.lock:
            data, total, self.data, self.total = self.data, self.total, b"", 0
        note = f"\\n[cut after {len(data)} of {total} bytes]\\n" if total > len(data) else ""
        return data.decode("utf-8", "replace") + note


class Folder:
    """The files of the code, and which of them have changed."""

    def __init__(self, path, limit, count):
        self.path, self.limit, self.count, self.marks = path, limit, count, {}

    def names(self):
        for folder, _, files in os.walk(self.path):
            for name in files:
                path = os.path.join(folder, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    yield os.path.relpath(path, self.path)

    def read(self, name):
        path = os.path.join(self.path, name)
        size = os.lstat(path).st_size
        if size > self.limit:
            return size, None
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            return size, file.read(self.limit)

    def changed(self, name):
        size, data = self.read(name)
        mark = (size, data and hashlib.blake2b(data).digest())
        if self.marks.get(name) == mark:
            return None
        self.marks[name] = mark
        return size, data

    def put(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        self.changed(name)

    def remove(self, name):
        if self.marks.pop(name, None) is None:
            return
        try:
            os.remove(os.path.join(self.path, name))
        except OSError:
            pass

    def changes(self):
        files, omitted, bytes_left = [], [], self.limit
        names = sorted(self.names())
        removed = sorted(set(self.marks).difference(names))
        for name in removed:
            del self.marks[name]
        for name in names:
            try:
                change = self.changed(name)
                encoded = name.encode("utf-8")
            except (OSError, UnicodeEncodeError):
                continue
            if change is None:
                continue
            size, data = change
            if data is None or size > bytes_left or len(files) == self.count:
                omitted.append(name)
                continue
            bytes_left -= len(data)
            files.append((encoded, data))
        return files, removed, self.note(omitted)

    def note(self, omitted):
        if not omitted:
            return ""
        names = ", ".join(omitted[:5]) + (f", and {len(omitted) - 5} more" if len(omitted) > 5 else "")
        return f"\\n[not given back: {names}; a run gives back at most {self.count} files of {self.limit} bytes in all]\\n"


class Runner:
    def __init__(self, settings):
        # Descriptors that neither the code nor what it starts inherits.
        self.wire = Wire(open(os.dup(0), "rb"), open(os.dup(1), "wb"))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self.limit = settings["outputBytes"]
        self.captures = [Capture(1, self.limit), Capture(2, self.limit)]
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(encoding="utf-8", errors="strict", line_buffering=True)
        self.folder = Folder(settings["folder"], settings["fileBytes"], settings["files"])
        os.chdir(settings["folder"])
        self.module = types.ModuleType("__main__")
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.cells = 0
        self.questions = queue.SimpleQueue()

    def listen(self):
        while True:
            self.questions.put(self.wire.question())

    def serve(self):
        sys.modules["__main__"] = self.module
        sys.argv = [""]
        threading.Thread(target=self.listen, daemon=True).start()
        self.wire.answer(0, [])
        while True:
            question_id, fields = self.questions.get()
            self.wire.answer(question_id, self.answer(fields))

    def answer(self, fields):
        if "code" in fields:
            return self.run(fields["code"])
        if "remove" not in fields:
            return self.put(fields)
        self.folder.remove(fields["remove"].decode("utf-8"))
        return []

    def put(self, fields):
        try:
            self.folder.put(fields["name"].decode("utf-8"), fields.get("data", b""))
            return []
        except OSError as error:
            return [("refused", str(error).encode("utf-8", "replace"))]

    def run(self, code):
        result, error = self.evaluate(code.decode("utf-8"))
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            # The code may have put anything in their place.
            try:
                stream.flush()
            except BaseException:
                pass
        files, removed, note = self.folder.changes()
        stdout, stderr = (capture.take() for capture in self.captures)
        texts = [("stdout", stdout), ("stderr", stderr + note), ("result", result), ("error", error)]
        if removed:
            texts.append(("remove", "\\n".join(removed)))
        fields = [(kind, text.encode("utf-8", "backslashreplace")) for kind, text in texts if text is not None]
        return fields + [field for name, data in files for field in (("name", name), ("data", data))]

    def evaluate(self, code):
        self.cells += 1
        cell = f"<cell {self.cells}>"
        # So that tracebacks show the lines.
        linecache.cache[cell] = (len(code), None, code.splitlines(True), cell)
        try:
            value = self.run_cell(code, cell)
            return None if value is None else repr(value)[: self.limit], None
        except BaseException as error:
            return None, self.format_traceback(error, cell)[-self.limit :]

    def run_cell(self, code, cell):
        tree = ast.parse(code, cell)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not code.rstrip().endswith(";"):
            last = ast.Expression(tree.body.pop().value)
        self.execute(tree, cell, "exec")
        return self.execute(last, cell, "eval") if last else None

    def execute(self, tree, cell, mode):
        compiled = compile(tree, cell, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        value = eval(compiled, self.module.__dict__)
        return self.loop.run_until_complete(value) if compiled.co_flags & inspect.CO_COROUTINE else value

    def format_traceback(self, error, cell):
        # Frames above the cell are this runner's own, which the model need not see.
        frames = error.__traceback__
        while frames and frames.tb_frame.f_code.co_filename != cell:
            frames = frames.tb_next
        return "".join(traceback.format_exception(type(error), error, frames))


Runner(json.loads(sys.argv[1])).serve()
`;

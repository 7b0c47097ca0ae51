/** Attempts to get out of the sandbox, each with what must come of it; run by `escapes.slow.test.ts`. */

/** Where the bait lies. */
export interface Bait {
  /** A file of the host that the code must not read. */
  readonly file: string;
  /** A server of the host that the code must not reach. */
  readonly port: number;
  /** The host's process. */
  readonly pid: number;
}

/** One attempt: its name, its Python, and the outcome that shows that it was tried and refused. */
export type Attempt = readonly [name: string, code: (bait: Bait) => string, outcome: RegExp];

const py = (code: string) => () => code;

const CODE = /EvalError: Code generation from strings disallowed/;
const ABSENT = /FileNotFoundError/;
const UNREACHED = /Host is unreachable/;

/** Defines `judge`, which returns whether all prototypes of a value are the realm's own, and a symbol. */
export const JUDGE = `import pyodide_js
from pyodide.ffi import create_proxy, to_js, jsnull
O = pyodide_js.constructor
symbol = O.getOwnPropertySymbols(O.getPrototypeOf(to_js([])))[0]
def top(value):
    while O.getPrototypeOf(value) not in (None, jsnull):
        value = O.getPrototypeOf(value)
    return value
def judge(value):
    return 'of the realm' if getattr(O, 'is')(top(value), O.prototype) else 'of Node'
def thrown(work):
    try:
        return 'nothing thrown: ' + str(work())
    except BaseException as error:
        return judge(error)
`;

/** An object that is a number at first, and no number when it is asked again. */
export const CHANGING = `answers = [100, symbol]
changing = O()
changing.valueOf = create_proxy(lambda *_: answers.pop(0) if len(answers) > 1 else symbol)
`;

const OURS = /^'of the realm'$/;

/** An error whose stack Node's own code could not write. */
export const SYMBOLIC = `${JUDGE}try:
    pyodide_js.FS.readFile('/none')
except BaseException as error:
    made = error.constructor.new('x')
made.name = symbol
str(made.stack)`;

/** Asks for the stack frames, which show receivers and functions. */
const FRAMES = `import pyodide_js
from pyodide.ffi import create_proxy
try:
    pyodide_js.FS.readFile('/none')
except BaseException as error:
    E = error.constructor
E.stackTraceLimit = 1000
E.prepareStackTrace = create_proxy(lambda error, frames: frames)
import asyncio
await asyncio.sleep(0.01)
str(E.new('x').stack)`;

/** Those that end by themselves, or over a limit of memory. */
export const ATTEMPTS: readonly Attempt[] = [
  // The realm of JavaScript.
  [
    'Function by the constructor chain',
    py(`import pyodide_js\npyodide_js.constructor.constructor('return process')()`),
    CODE,
  ],
  ['Function by __proto__', py(`import pyodide_js\npyodide_js.__proto__.constructor.constructor('return 1')()`), CODE],
  [
    'Function of a proxied dict',
    py(`from pyodide.ffi import to_js\nto_js({'a': 1}).constructor.constructor('return globalThis')()`),
    CODE,
  ],
  [
    'Function of an array',
    py(`from pyodide.ffi import to_js\nto_js([1]).constructor.constructor('return globalThis')()`),
    CODE,
  ],
  ['Function of a function', py(`import pyodide_js\npyodide_js.runPython.constructor('return this')()`), CODE],
  ['AsyncFunction', py(`import pyodide_js\nawait pyodide_js.runPythonAsync.constructor('return process')()`), CODE],
  [
    'Function of an error',
    py(
      `import pyodide_js\ntry:\n    pyodide_js.FS.readFile('/none')\nexcept BaseException as e:\n    e.js_error.constructor.constructor('return this')() if hasattr(e, 'js_error') else e.constructor.constructor('return this')()`,
    ),
    CODE,
  ],
  [
    'eval_code of JavaScript',
    py(`from pyodide.code import run_js\nrun_js('process')`),
    /cannot import name 'eval' from 'js'/,
  ],
  ['eval of js', py(`import js\njs.eval('1')`), /AttributeError: eval/],
  ['js.globalThis', py(`import js\njs.globalThis`), /AttributeError: globalThis/],
  ['js.process', py(`import js\njs.process.env`), /AttributeError: process/],
  ['js.fetch', py(`import js\nawait js.fetch('http://example.com')`), /AttributeError: fetch/],
  ['js by importlib', py(`import importlib\nimportlib.import_module('js').require`), /AttributeError: require/],
  ['js by sys.modules', py(`import sys, js\nsys.modules['js'].process`), /AttributeError: process/],
  ['js with a full-width name', py(`import js\njs.ｐrocess`), /AttributeError: process/],
  [
    'pyodide_js.globals of JavaScript',
    py(`import pyodide_js\npyodide_js._api.config.jsglobals.process`),
    /AttributeError: process/,
  ],
  ['_api of Pyodide', py(`import pyodide_js\npyodide_js._api.runtimeEnv.IN_NODE`), /^False$/],
  ['_api.rawRun', py(`import pyodide_js\npyodide_js._api.rawRun('import js; js.process')`), /AttributeError: process/],
  [
    'the module of Emscripten',
    py(`import pyodide_js\npyodide_js._module.ENV.to_py()`),
    /^\{'HOME': '\/mnt\/data', 'PYTHONINSPECT': '1'\}$/,
  ],
  [
    '_emscripten_run_script',
    py(
      `import pyodide_js\nm = pyodide_js._module\np = m.stringToNewUTF8('process.exit(7)')\nm._emscripten_run_script(p)`,
    ),
    CODE,
  ],
  [
    '_emscripten_run_script_string',
    py(
      `import pyodide_js\nm = pyodide_js._module\np = m.stringToNewUTF8('globalThis.process')\nm._emscripten_run_script_string(p)`,
    ),
    CODE,
  ],
  [
    '__emscripten_system',
    py(`import pyodide_js\nm = pyodide_js._module\np = m.stringToNewUTF8('id')\nm.__emscripten_system(p)`),
    /^-52$/,
  ],
  [
    'dynamic library of JavaScript',
    py(`import pyodide_js\nawait pyodide_js._module.loadDynamicLibrary('/etc/passwd')`),
    /Unexpected call to locateFile/,
  ],
  [
    'registerJsModule',
    py(
      `import pyodide_js\npyodide_js.registerJsModule('mine', pyodide_js)\nimport mine\nmine.constructor.constructor('return this')()`,
    ),
    CODE,
  ],
  [
    'Reflect by a proxy of a class',
    py(
      `import pyodide_js\npyodide_js.constructor.getOwnPropertyNames(pyodide_js.constructor.constructor.prototype).to_py()\npyodide_js.constructor.getOwnPropertyDescriptor(pyodide_js.constructor.constructor.prototype, 'constructor').value('return process')()`,
    ),
    CODE,
  ],
  [
    'poisoned Object.prototype',
    py(
      `import pyodide_js\nO = pyodide_js.constructor\nfrom pyodide.ffi import create_proxy\nO.prototype.polluted = 'yes'\nO.prototype.polluted`,
    ),
    /^'yes'$/,
  ],
  ['frames of the stack', py(FRAMES), /^'undefined'$|^'None'$/],
  [
    'a timer whose time is a symbol when it is asked again',
    py(`${JUDGE}${CHANGING}thrown(lambda: pyodide_js._api.scheduleCallback(create_proxy(lambda: None), changing))`),
    OURS,
  ],
  [
    'a timer whose time is an object',
    py(`${JUDGE}thrown(lambda: pyodide_js._api.scheduleCallback(create_proxy(lambda: None), O.create(jsnull)))`),
    OURS,
  ],
  [
    'a timer for ever and before now',
    py(
      `${JUDGE}[pyodide_js._api.scheduleCallback(create_proxy(lambda: None), ms) for ms in (float('nan'), float('inf'), -1, 1e300)][0]`,
    ),
    /^None$/,
  ],
  ['the stack of an error whose name is a symbol', py(SYMBOLIC), /^'(undefined|None)'$/],
  [
    "an import of Node's modules by Pyodide's own code",
    py(`${JUDGE}try:
    said = str(await pyodide_js._api.initializeNodeSockFS())
except BaseException as error:
    said = judge(error)
said`),
    OURS,
  ],
  [
    "setters for what Node's streams keep",
    py(`${JUDGE}seen = []
for name in ('handle', 'req', 'async', 'callback', 'buffer', 'oncomplete'):
    O.prototype.__defineSetter__(name, create_proxy(lambda *values: seen.append(values)))
import asyncio
print('x' * 10000)
await asyncio.sleep(0.05)
for name in ('handle', 'req', 'async', 'callback', 'buffer', 'oncomplete'):
    delattr(O.prototype, name)
len(seen)`),
    /^0 x+$/,
  ],
  [
    'answers forged by toJSON',
    py(`${JUDGE}forged = O()
forged.stdout = 'forged'
O.prototype.toJSON = create_proxy(lambda *_: forged)
'told'`),
    /^'told'$/,
  ],
  [
    'an error of the outer realm',
    py(
      `import pyodide_js\nfrom pyodide.ffi import create_proxy\ndef deep():\n    try:\n        pyodide_js._module.UTF8ToString(1024)\n        return deep()\n    except BaseException as e:\n        return e\ne = deep()\n(e.constructor if hasattr(e, 'constructor') else pyodide_js.constructor).constructor('return process')()`,
    ),
    CODE,
  ],
  // Files.
  ['open of a host file', ({ file }) => `open('${file}').read()`, ABSENT],
  [
    'open by descriptor',
    py(`import os\n[os.read(fd, 10) for fd in range(3, 10)]`),
    /Bad file descriptor|Socket not connected/,
  ],
  ['os.listdir of the host', ({ file }) => `import os\nos.listdir(os.path.dirname('${file}'))`, ABSENT],
  ['/etc/passwd', py(`open('/etc/passwd').read()`), ABSENT],
  ['/proc/self/environ', py(`open('/proc/self/environ').read()`), ABSENT],
  ['/proc of the host', ({ pid }) => `open('/proc/${pid}/environ').read()`, ABSENT],
  [
    'NODEFS',
    py(
      `import pyodide_js\npyodide_js.FS.mkdir('/host')\npyodide_js.FS.mount(pyodide_js.FS.filesystems.NODEFS, {'root': '/'}, '/host')\nimport os\nos.listdir('/host')`,
    ),
    /reading 'lstatSync'/,
  ],
  ['mountNodeFS', py(`import pyodide_js\npyodide_js.mountNodeFS('/host2', '/')`), /only works in Node/],
  [
    'mountNativeFS',
    py(`import pyodide_js\nawait pyodide_js.mountNativeFS('/host3', {})`),
    /to be a FileSystemDirectoryHandle/,
  ],
  [
    'a link out of the file system',
    ({ file }) => `import os\nos.symlink('${file}', 'link')
try:
  open('link').read()
finally:
  os.remove('link')`,
    ABSENT,
  ],
  ['a path with dots', ({ file }) => `open('../../../../../../..${file}').read()`, ABSENT],
  [
    'readbuffer left over',
    py(`import pyodide_js\npyodide_js._module.readBinary('/etc/passwd')`),
    /AttributeError: readBinary/,
  ],
  [
    'FS.createLazyFile',
    ({ port }) =>
      `import pyodide_js\npyodide_js.FS.createLazyFile('/', 'lazy', 'http://127.0.0.1:${port}/', True, False)\nopen('/lazy').read()`,
    /^lost: crash$/,
  ],
  ['writes a host file', ({ file }) => `open('${file}.new', 'w').write('x')`, ABSENT],
  // The environment.
  ['os.environ', py(`import os\n[v for v in os.environ.values() if 'canary' in v]`), /^\[\]$/],
  ['os.getenv of a host variable', py(`import os\nos.getenv('CANARY')`), /^None$/],
  // The network.
  [
    'socket',
    ({ port }) => `import socket\ns = socket.create_connection(('127.0.0.1', ${port}), 2)\ns.send(b'x')`,
    UNREACHED,
  ],
  [
    'a socket without blocking',
    ({ port }) => `import socket\ns = socket.socket()\ns.setblocking(False)\ns.connect(('127.0.0.1', ${port}))`,
    UNREACHED,
  ],
  [
    'urllib',
    ({ port }) => `import urllib.request\nurllib.request.urlopen('http://127.0.0.1:${port}/').read()`,
    UNREACHED,
  ],
  [
    'http.client',
    ({ port }) =>
      `import http.client\nc = http.client.HTTPConnection('127.0.0.1', ${port})\nc.request('GET', '/')\nc.getresponse().status`,
    UNREACHED,
  ],
  [
    'pyfetch',
    ({ port }) => `from pyodide.http import pyfetch\nawait pyfetch('http://127.0.0.1:${port}/')`,
    /'AbortController' is not defined/,
  ],
  [
    'open_url',
    ({ port }) => `from pyodide.http import open_url\nopen_url('http://127.0.0.1:${port}/')`,
    /'XMLHttpRequest' is not defined/,
  ],
  [
    'asyncio streams',
    ({ port }) => `import asyncio\nawait asyncio.open_connection('127.0.0.1', ${port})`,
    /not available in browser/,
  ],
  ['a name', py(`import socket\nsocket.getaddrinfo('example.com', 80)`), /172\.29\./],
  [
    'loadPackage of a URL',
    ({ port }) => `import pyodide_js\nawait pyodide_js.loadPackage('http://127.0.0.1:${port}/x.whl')`,
    /Shell cannot fetch urls/,
  ],
  [
    'loadPackage of a name',
    py(`import pyodide_js\nawait pyodide_js.loadPackage('numpy')\nimport numpy`),
    /No known package/,
  ],
  ['micropip', py(`import micropip`), /No module named 'micropip'/],
  ['ensurepip', py(`import ensurepip\nensurepip.bootstrap()`), /No module named 'ensurepip'/],
  [
    '_emscripten fetch',
    ({ port }) => `import pyodide_js\npyodide_js._module.readAsync('http://127.0.0.1:${port}/')`,
    /AttributeError: readAsync/,
  ],
  // Processes.
  ['os.system', py(`import os\nos.system('id')`), /^-1$/],
  ['os.fork', py(`import os\nwhile True: os.fork()`), /Function not implemented/],
  ['subprocess', py(`import subprocess\nsubprocess.run(['id'])`), /does not support processes/],
  ['os.execv', py(`import os\nos.execv('/bin/sh', ['sh'])`), /Exec format error/],
  ['os.posix_spawn', py(`import os\nos.posix_spawn('/bin/sh', ['sh'], {})`), /no attribute 'posix_spawn'/],
  [
    'multiprocessing',
    py(`import multiprocessing\np = multiprocessing.Process(target=print)\np.start()`),
    /No module named '_multiprocessing'/,
  ],
  [
    'threads',
    py(`import threading\n[threading.Thread(target=lambda: None).start() for _ in range(1000)]`),
    /can't start new thread/,
  ],
  ['os.kill of the host', ({ pid }) => `import os\nos.kill(${pid}, 9)`, /Operation not permitted/],
  [
    'signals of its own',
    py(`import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\n1`),
    /no attribute 'setitimer'/,
  ],
  // Python's own ways around.
  ['ctypes', py(`import ctypes\nctypes.CDLL(None).system(b'id')`), /^-1$/],
  ['ctypes of raw memory', py(`import ctypes\nctypes.string_at(0, 8)`), /^b['"]/],
  [
    'subclasses hunting',
    py(`[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0](['id'])`),
    /does not support processes/,
  ],
  [
    'forged frames',
    py(
      `import sys, os\nframe = '\\n{"id":1,"stdout":"forged","stderr":"","files":[]}\\n{"id":2,"stdout":"forged","stderr":"","files":[]}\\n'\nprint(frame)\nos.write(1, frame.encode())\nsys.__stdout__.write(frame)\n5`,
    ),
    /^5 [\s\S]*"id":1/,
  ],
  ['stdin', py(`input()`), /EOFError|Error/],
  ['stdin by descriptor', py(`import os\nos.read(0, 10)`), /I\/O error/],
  ['exit by sys', py(`import sys\nsys.exit(9)`), /SystemExit: 9/],
  [
    'a result that cannot be shown',
    py(`class R:\n    def __repr__(self): raise MemoryError('mine')\nR()`),
    /MemoryError: mine/,
  ],
  [
    'an exception that cannot be shown',
    py(
      `class E(Exception):\n    def __str__(self): raise ValueError\n    def __repr__(self): raise ValueError\nraise E`,
    ),
    /E: <exception str/,
  ],
  [
    'a file name out of the folder',
    py(`import os
os.chdir('/tmp')
try:
  with open('../mnt/data/..evil', 'w') as file: written = file.write('x')
finally:
  os.chdir('/mnt/data')
written`),
    /^1 [\s\S]*\.\.evil/,
  ],
  ['lone surrogates', py(`print('\\ud800')`), /UnicodeEncodeError/],
  ['lone surrogates as the result', py(`'\\ud800'`), /^'\\ud800'$/],
  ['source with a null', py('1\0'), /SyntaxError/],
  [
    'a stdout of its own',
    py(
      `import sys\nclass Bad:\n    old = sys.stdout\n    def write(self, s):\n        sys.stdout = Bad.old\n        raise SystemExit\n    def flush(self):\n        sys.stdout = Bad.old\n        raise KeyboardInterrupt\nsys.stdout = Bad()\n3`,
    ),
    /^3$/,
  ],
  [
    'gc hunting',
    py(`import gc\nany(hasattr(o, 'process') for o in gc.get_objects() if type(o).__name__ == 'JsProxy')`),
    /^False$/,
  ],
  [
    "a module in the place of 'js'",
    py(`import sys
import js as kept
sys.modules['js'] = sys
try:
  import js
  js.process
finally:
  sys.modules['js'] = kept`),
    /no attribute 'process'/,
  ],
  [
    'a runner that is patched',
    py(`import traceback\ndef bad(*a, **k): raise KeyboardInterrupt\ntraceback.format_exception = bad\n1 / 0`),
    /^lost: crash$/,
  ],
  // Limits.
  ['10 GB at once', py(`b = bytearray(10**9)`), /MemoryError/],
  [
    '10 GB by and by',
    py(`l = []
try:
  while True: l.append(bytearray(10**7))
finally:
  # What comes next needs memory as well.
  del l`),
    /MemoryError/,
  ],
  ['10 GB of integers', py(`1 << (8 * 10**10)`), /MemoryError|OverflowError/],
  ['deep recursion', py(`import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)`), /^lost: crash$/],
  ['deep recursion in C', py(`x = []\nfor _ in range(10**6): x = [x]\nrepr(x)`), /^lost: crash$/],
  ['a deep syntax tree', py(`eval('(' * 100000)`), /too many nested parentheses/],
  ['an output flood', py(`for _ in range(100): print('x' * 10**6)`), /\[cut after \d+ of \d+ bytes\]/],
  ['a flood of results', py(`'x' * 10**8`), /^'x{1000}/],
  ['many files', py(`import os\nfor i in range(200): open(f'/mnt/data/{i}.txt', 'w').write('x')`), /not given back/],
  ['a large file', py(`open('/mnt/data/large', 'wb').truncate(20 * 2**20)\n1`), /not given back/],
  ['os.abort', py(`import os\nos.abort()`), /^lost: crash$/],
  ['os._exit', py(`import os\nos._exit(0)`), /^lost: crash$/],
  ['a null pointer', py(`import ctypes\nctypes.memset(0, 1, 2**31)`), /^lost: crash$/],
  // The kernel's limit may come before the watch: it then dies of itself.
  ['10 GB of files', py(`f = open('big', 'wb')\nwhile True: f.write(b'x' * 10**7)`), /^lost: (memory|crash)$/],
];

/** Those that end by the clock alone. */
export const ENDLESS: readonly Attempt[] = [
  [
    'an endless loop that catches all',
    py(`while True:\n    try:\n        while True: pass\n    except BaseException: pass`),
    /^lost: timeout$/,
  ],
  ['an endless loop in C', py(`sum(iter(int, 1))`), /^lost: timeout$/],
  ['an endless wait', py(`import asyncio\nawait asyncio.Future()`), /^lost: timeout$/],
  ['an endless regular expression', py(`import re\nre.match(r'(a+)+$', 'a' * 50 + 'b')`), /^lost: timeout$/],
];

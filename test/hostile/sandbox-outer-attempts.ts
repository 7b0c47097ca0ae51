/** The attempts of a program with all of Node, inside the system's sandbox only; each with its expected outcome. */

/** Where the bait is. */
export interface OuterBait {
  /** A file of the host's. */
  readonly file: string;
  /** A port of the host's, for TCP and UDP. */
  readonly port: number;
  /** A path socket of the host's, open to everybody. */
  readonly socket: string;
  /** An abstract socket of the host's, without its leading null. */
  readonly abstract: string;
  readonly pid: number;
  /** A program of the host's. */
  readonly program: string;
}

/** The code is the body of an async function with `bait`, and every module of Node by its name, such as `fs`. */
export type OuterAttempt = readonly [name: string, code: string, outcome: RegExp];

const ABSENT = /^REFUSED ENOENT/;
/** `ETXTBSY`: the program is running. */
const READ_ONLY = /^REFUSED (EROFS|EPERM|ETXTBSY)/;
const FORBIDDEN = /^REFUSED (EPERM|EACCES)/;

const read = (path: string): OuterAttempt => [`reads ${path}`, `return fs.readFileSync('${path}', 'latin1')`, ABSENT];
const list = (path: string): OuterAttempt => [`lists ${path}`, `return fs.readdirSync('${path}')`, ABSENT];
const write = (path: string): OuterAttempt => [
  `writes ${path}`,
  `return fs.writeFileSync('${path}', 'x')`,
  /^REFUSED (EROFS|ENOENT|EPERM|EACCES)/,
];
const event = (call: string, good: string) =>
  `return new Promise((done, fail) => { const it = ${call}; it.on('${good}', done).on('error', fail); setTimeout(() => fail(Object.assign(new Error(), { code: 'ETIMEDOUT' })), 3000); })`;
const connect = (name: string, args: string): OuterAttempt => [
  `connects to ${name}`,
  event(`net.connect(${args})`, 'connect'),
  FORBIDDEN,
];

const FILES: readonly OuterAttempt[] = [
  ...[
    '/etc/passwd',
    '/etc/shadow',
    '/etc/hosts',
    '/etc/resolv.conf',
    '/etc/ld.so.cache',
    '/proc/self/environ',
    '/proc/1/environ',
    '/proc/1/cmdline',
    '/proc/self/maps',
    '/proc/self/mem',
    '/proc/self/mountinfo',
    '/proc/cpuinfo',
    '/proc/kallsyms',
    '/proc/kcore',
    '/proc/sys/kernel/core_pattern',
    '/sys/kernel/uevent_helper',
    '/sys/class/net/lo/address',
    '/sys/fs/cgroup/cgroup.procs',
    '/dev/mem',
    '/dev/kmsg',
    '/dev/zero',
    '/dev/urandom',
    '/dev/vda',
    '/dev/sda',
    '/root/.ssh/id_rsa',
    '/root/.bash_history',
    '/var/run/secrets/kubernetes.io/serviceaccount/token',
    '/bin/sh',
    '/usr/bin/env',
    '/boot/vmlinuz',
  ].map(read),
  ...['/etc', '/proc', '/proc/1/root', '/proc/self/fd', '/sys', '/dev', '/dev/shm', '/dev/pts', '/run'].map(list),
  ...['/tmp', '/var', '/home', '/root', '/usr', '/opt', '/srv', '/mnt', '/media', '/bin', '/oldroot'].map(list),
  ['reads the bait', 'return fs.readFileSync(bait.file, "utf8")', ABSENT],
  ['reads the bait by dots', 'return fs.readFileSync("/pyodide/../../../../.." + bait.file, "utf8")', ABSENT],
  ['reads the bait by a descriptor', 'return fs.openSync(bait.file, "r")', ABSENT],
  ['reads the bait by streams', event('fs.createReadStream(bait.file)', 'data'), ABSENT],
  ['reads the bait by fetch', 'return (await fetch("file://" + bait.file)).text()', /^REFUSED /],
  ['reads the bait as a module', 'return require(bait.file)', /^REFUSED MODULE_NOT_FOUND/],
  ['imports the bait', 'return import(bait.file)', /^REFUSED ERR_MODULE_NOT_FOUND/],
  ['loads the bait as an add-on', 'return process.dlopen({ exports: {} }, bait.file)', /^REFUSED ERR_DLOPEN_FAILED/],
  ['statfs of the host', 'return fs.statfsSync("/")', FORBIDDEN],
  ['reads a link of the kernel', 'return fs.readlinkSync("/proc/self/exe")', ABSENT],
  [
    'finds anything in the root but what was bound',
    'return fs.readdirSync("/").filter((name) => !["lib", "lib64", "usr", "node", "pyodide", "sandbox", "script.mjs"].includes(name)).length',
    /^DONE 0$/,
  ],
  [
    'finds anything in the scripts’ folder but the package',
    'return fs.readdirSync("/sandbox")',
    /^DONE \["code-interpreter","package\.json"\]$/,
  ],
  [
    'finds a libc to load other than the libraries',
    'return fs.readdirSync("/", { recursive: true }).filter((name) => /passwd|shadow|\\.ssh|\\.env|\\.git|bin\\//.test(name)).length',
    /^DONE 0$/,
  ],
];

const WRITES: readonly OuterAttempt[] = [
  ...['/x', '/tmp/x', '/node', '/script.mjs', '/pyodide/x', '/pyodide/pyodide.mjs', '/sandbox/x'].map(write),
  ...['/sandbox/code-interpreter/child/main.js', '/lib/x', '/lib64/x', '/dev/shm/x', '/proc/self/oom_score_adj'].map(
    write,
  ),
  ['writes the bait', 'return fs.writeFileSync(bait.file + ".new", "x")', ABSENT],
  ['appends to the bait', 'return fs.appendFileSync(bait.file, "x")', ABSENT],
  ['makes a folder', 'return fs.mkdirSync("/folder")', READ_ONLY],
  ['makes a temporary folder', 'return fs.mkdtempSync("/x")', READ_ONLY],
  ['makes a link', 'return fs.symlinkSync(bait.file, "/link")', READ_ONLY],
  ['makes a hard link', 'return fs.linkSync("/node", "/other")', READ_ONLY],
  ['removes Node', 'return fs.unlinkSync("/node")', READ_ONLY],
  ['renames Node', 'return fs.renameSync("/node", "/other")', READ_ONLY],
  ['copies Node', 'return fs.copyFileSync("/node", "/copy")', READ_ONLY],
  ['truncates Node', 'return fs.truncateSync("/node")', READ_ONLY],
  ['changes the mode of Node', 'return fs.chmodSync("/node", 0o4777)', READ_ONLY],
  ['changes the owner of Node', 'return fs.chownSync("/node", 0, 0)', READ_ONLY],
  ['changes the times of Node', 'return fs.utimesSync("/node", 0, 0)', READ_ONLY],
  ['removes Pyodide', 'return fs.rmSync("/pyodide", { recursive: true })', /^REFUSED /],
  ['watches a file', event('fs.watch("/node")', 'change'), /^REFUSED /],
  ['writes a snapshot of the heap', 'return v8.writeHeapSnapshot("/heap")', /^REFUSED /],
  ['writes a report', 'return process.report.writeReport("/report.json")', /./],
  ['changes the folder', 'return process.chdir("/lib")', FORBIDDEN],
];

const NETWORK: readonly OuterAttempt[] = [
  connect('TCP of the host', "bait.port, '127.0.0.1'"),
  connect('TCP over IPv6', "bait.port, '::1'"),
  connect('TCP on any address', "bait.port, '0.0.0.0'"),
  connect('the internet', "80, '1.1.1.1'"),
  connect('the metadata of a cloud', "80, '169.254.169.254'"),
  connect('a private network', "80, '10.0.0.1'"),
  connect('a private network of Docker', "80, '172.17.0.1'"),
  connect('a path socket of the host', 'bait.socket'),
  connect('Docker', "'/var/run/docker.sock'"),
  connect('the bus of the system', "'/run/dbus/system_bus_socket'"),
  connect('journald', "'/run/systemd/journal/stdout'"),
  connect('an abstract socket of the host', "'\\0' + bait.abstract"),
  connect('the bus of the session', "'\\0/tmp/dbus'"),
  [
    'sends a datagram',
    'const s = dgram.createSocket("udp4"); return new Promise((d, f) => s.on("error", f).send("x", bait.port, "127.0.0.1", (e) => e ? f(e) : d("sent")))',
    FORBIDDEN,
  ],
  [
    'sends a datagram over IPv6',
    'const s = dgram.createSocket("udp6"); return new Promise((d, f) => s.on("error", f).send("x", bait.port, "::1", (e) => e ? f(e) : d("sent")))',
    FORBIDDEN,
  ],
  [
    'receives datagrams',
    'const s = dgram.createSocket("udp4"); return new Promise((d, f) => s.on("error", f).on("listening", d).bind(0))',
    FORBIDDEN,
  ],
  ['listens', event('net.createServer().listen(0)', 'listening'), FORBIDDEN],
  ['listens on a path', event('net.createServer().listen("/sock")', 'listening'), FORBIDDEN],
  ['listens on a path that is bound', event('net.createServer().listen("/pyodide/sock")', 'listening'), FORBIDDEN],
  ['listens on an abstract name', event('net.createServer().listen("\\0name")', 'listening'), FORBIDDEN],
  ['listens for a debugger', 'inspector.open(0, "127.0.0.1"); return inspector.url()', /^(REFUSED|DONE null$)/],
  ['fetches', 'return (await fetch(`http://127.0.0.1:${bait.port}/`)).text()', /^REFUSED /],
  ['asks over http', event('http.get({ port: bait.port, host: "127.0.0.1" })', 'response'), FORBIDDEN],
  ['asks over http on a path socket', event('http.get({ socketPath: bait.socket })', 'response'), FORBIDDEN],
  ['asks over http2', event('http2.connect(`http://127.0.0.1:${bait.port}`)', 'connect'), FORBIDDEN],
  ['opens TLS', event('tls.connect(bait.port, "127.0.0.1")', 'secureConnect'), /^REFUSED /],
  ['looks a name up', 'return dns.promises.lookup("example.com")', /^REFUSED /],
  [
    'asks a name server',
    'return new dns.promises.Resolver({ timeout: 500, tries: 1 }).resolve4("example.com")',
    /^REFUSED /,
  ],
  [
    'asks a name server of its own',
    'const r = new dns.promises.Resolver({ timeout: 500, tries: 1 }); r.setServers([`127.0.0.1:${bait.port}`]); return r.resolve4("example.com")',
    /^REFUSED /,
  ],
  [
    'lists interfaces',
    'return Object.keys(os.networkInterfaces()).filter((name) => name !== "lo").length',
    /^(REFUSED|DONE 0$)/,
  ],
  ['uses the host’s pipe as a server', event('net.createServer().listen({ fd: 0 })', 'listening'), /^REFUSED /],
  [
    'connects a pipe of Node’s',
    'const w = process.binding("pipe_wrap"); const p = new w.Pipe(0), r = new w.PipeConnectWrap(); return new Promise((d, f) => { r.oncomplete = (s) => d(s); const e = p.connect(r, bait.socket, () => {}); if (e) d(e) })',
    /^(REFUSED|DONE -\d+)/,
  ],
  [
    'makes a pipe of Node’s and binds it',
    'const p = new (process.binding("pipe_wrap").Pipe)(1); return p.bind("/x")',
    /^(REFUSED|DONE -\d+)/,
  ],
  [
    'makes a TCP of Node’s and binds it',
    'const { TCP } = process.binding("tcp_wrap"); return new TCP(1).bind("127.0.0.1", 0)',
    /^(REFUSED|DONE -\d+)/,
  ],
  [
    'makes a UDP of Node’s and binds it',
    'const { UDP } = process.binding("udp_wrap"); return new UDP().bind("127.0.0.1", 0, 0)',
    /^(REFUSED|DONE -\d+)/,
  ],
];

const spawn = (name: string, call: string): OuterAttempt => [
  `starts ${name}`,
  `return child_process.${call}`,
  /^REFUSED /,
];

const PROCESSES: readonly OuterAttempt[] = [
  spawn('a shell', 'execFileSync("/bin/sh", ["-c", "id"])'),
  spawn('a command', 'execSync("id")'),
  spawn('Node again', 'execFileSync("/node", ["--version"])'),
  spawn('the loader', 'execFileSync("/lib64/ld-linux-x86-64.so.2", ["/node", "--version"])'),
  spawn('the program of the host', 'execFileSync(bait.program)'),
  spawn('itself by /proc', 'execFileSync("/proc/self/exe", ["--version"])'),
  spawn('a script', 'execFileSync("/script.mjs")'),
  ['forks', event('child_process.fork("/script.mjs")', 'message'), /^REFUSED /],
  [
    'forks a cluster',
    'cluster.setupPrimary({ exec: "/script.mjs" }); return new Promise((d, f) => { const w = cluster.fork(); w.on("online", d).on("error", f) })',
    /^REFUSED /,
  ],
  ['spawns detached', event('child_process.spawn("/node", { detached: true, stdio: "ignore" })', 'spawn'), /^REFUSED /],
  ['spawns as root', event('child_process.spawn("/node", { uid: 0, gid: 0 })', 'spawn'), /^REFUSED /],
  ['kills the host', 'return process.kill(bait.pid, 9)', FORBIDDEN],
  ['asks whether the host lives', 'return process.kill(bait.pid, 0)', FORBIDDEN],
  ['kills everybody', 'return process.kill(-1, 9)', FORBIDDEN],
  ['kills the first process', 'return process.kill(1, 9)', FORBIDDEN],
  [
    'finds any other process',
    'let n = 0; for (let pid = 1; pid < 70000; pid += 1) try { process.kill(pid, 0); n += 1 } catch {} return n',
    /^DONE 0$/,
  ],
  ['knows its parent', 'return process.ppid', /^DONE 0$/],
  ['debugs the host', 'return process._debugProcess(bait.pid)', /^REFUSED /],
  ['changes the priority of the host', 'return os.setPriority(bait.pid, 19)', /^REFUSED /],
  ['changes its own priority', 'return os.setPriority(0, -20)', /^REFUSED /],
  [
    'is root',
    'return [process.getuid(), process.geteuid(), process.getgid(), process.getegid()].join()',
    /^DONE "65534,65534,65534,65534"$/,
  ],
  ['becomes root', 'return process.setuid(0)', FORBIDDEN],
  ['becomes root in effect', 'return process.seteuid(0)', FORBIDDEN],
  ['joins root’s group', 'return process.setgid(0)', FORBIDDEN],
  ['joins a group in effect', 'return process.setegid(0)', FORBIDDEN],
  ['joins groups', 'return process.setgroups([0])', FORBIDDEN],
  ['names its user', 'return os.userInfo().username', /^REFUSED /],
  [
    'sees the environment',
    'return Object.keys(process.env).filter((name) => !["PWD", "LD_LIBRARY_PATH"].includes(name)).length',
    /^DONE 0$/,
  ],
  ['knows the host’s name', 'return os.hostname()', /^DONE "sandbox"$/],
  [
    'holds a descriptor of a file',
    'const held = []; for (let fd = 3; fd < 4096; fd += 1) try { const s = fs.fstatSync(fd); if (s.isFile() || s.isDirectory() && fs.readdirSync("/").length === 0) held.push(fd) } catch {} return held.length',
    /^DONE 0$/,
  ],
  [
    'reads beyond the channel',
    'let n = 0; for (let fd = 3; fd < 256; fd += 1) try { if (fs.readSync(fd, Buffer.alloc(9), 0, 9, 0) > 0) n += 1 } catch {} return n',
    /^DONE 0$/,
  ],
  [
    'opens a thousand files',
    'const open = []; try { for (let n = 0; n < 1000; n += 1) open.push(fs.openSync("/node")); } finally { for (const fd of open) fs.closeSync(fd); }',
    /^REFUSED EMFILE/,
  ],
  ['makes a file of 1 MB', 'return fs.writeFileSync("/big", Buffer.alloc(2 ** 20))', READ_ONLY],
  [
    'loads an add-on of the host’s',
    'return process.dlopen({ exports: {} }, bait.program)',
    /^REFUSED ERR_DLOPEN_FAILED/,
  ],
  [
    'runs WASI on the host’s files',
    'const { WASI } = wasi; return new WASI({ version: "preview1", preopens: { "/": "/etc" } }) && fs.readdirSync("/etc")',
    /^REFUSED /,
  ],
];

/** All attempts; none ends the process. */
export const OUTER_ATTEMPTS: Readonly<Record<string, readonly OuterAttempt[]>> = {
  'reading of files': FILES,
  'writing of files': WRITES,
  'ways to a network or a socket': NETWORK,
  'processes, users and powers': PROCESSES,
};

/** The script that makes the attempts in its second argument and prints the outcomes as one line of JSON. */
export const ATTEMPTS_SCRIPT = `
import { builtinModules, createRequire } from 'node:module';
const require = createRequire('/script.mjs');
const names = builtinModules.filter((name) => /^[a-z_0-9]+$/.test(name) && name !== 'process' && name !== 'module' && name !== 'sys');
const modules = names.map((name) => { try { return require(name) } catch { return undefined } });
const AsyncFunction = (async () => {}).constructor;
const [bait, attempts] = process.argv.slice(2).map((text) => JSON.parse(text));
process.on('uncaughtException', () => {}).on('unhandledRejection', () => {});
process.emitWarning = () => {};
const outcomes = [];
for (const code of attempts) {
  const late = new Promise((_, fail) => setTimeout(() => fail(Object.assign(new Error(), { code: 'NEVER' })), 5000).unref());
  try {
    const work = new AsyncFunction('bait', 'require', ...names, code)(bait, require, ...modules);
    outcomes.push('DONE ' + JSON.stringify(await Promise.race([work, late]) ?? null).slice(0, 10_000));
  } catch (error) {
    outcomes.push('REFUSED ' + (error?.cause?.code ?? error?.code ?? error?.name));
  }
}
process.stdout.write(JSON.stringify(outcomes), () => process.exit());
`;

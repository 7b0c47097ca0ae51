/** The hostile side of `realm-doors.mjs`, in the realm: every value and every error that a function into Node ("door") returns or throws must belong to the realm. */
const OWN = Object.prototype;
const { getPrototypeOf, ownKeys, getOwnPropertyDescriptor, apply, construct } = Reflect;
const then = Promise.prototype.then;
const foreign = new Set();
const seen = new Set();
let tried = 0;
let open = 0;
let over = false;

/** Everything that can be reached from the value ends at this realm's own Object.prototype, or at nothing. */
function judge(value, where) {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if ((typeof next !== 'object' || next === null) && typeof next !== 'function') continue;
    if (seen.has(next)) continue;
    seen.add(next);
    try {
      look(next, where, left);
    } catch {
      // A proxy that throws is the attacker's own.
    }
  }
}

function look(next, where, left) {
  let top = next;
  while (getPrototypeOf(top) !== null) top = getPrototypeOf(top);
  if (top !== OWN && top !== next) foreign.add(where);
  left.push(getPrototypeOf(next));
  const keys = ownKeys(next);
  // Without an iterator, which the attack poisons in the end.
  for (let index = 0; index < keys.length; index += 1) {
    const property = getOwnPropertyDescriptor(next, keys[index]);
    left.push(property?.value, property?.get, property?.set);
  }
}

/** Makes a call, and judges its result; promises are judged when they settle. */

function attempt(where, work) {
  tried += 1;
  let outcome;
  try {
    outcome = work();
  } catch (error) {
    outcome = error;
  }
  settle(where, outcome);
}

function isPromise(value) {
  try {
    return value instanceof Promise;
  } catch {
    return false;
  }
}

function settle(where, outcome) {
  judge(outcome, where);
  if (!isPromise(outcome)) return;
  open += 1;
  const done = (value) => {
    open -= 1;
    judge(value, `${where}, settled`);
  };
  apply(then, outcome, [done, done]);
}

/** Returns another value each time. */
function changing() {
  const answers = [100, 100, Symbol('later'), 10n, {}];
  let requested = 0;
  const answer = () => answers[requested++ % answers.length];
  return {
    valueOf: answer,
    toString: answer,
    [Symbol.toPrimitive]: answer,
    get length() {
      return answer();
    },
  };
}

function throwing() {
  const trap = () => {
    throw Symbol('trap');
  };
  return new Proxy(() => {}, new Proxy({}, { get: () => trap }));
}

function ignoring() {
  return new Proxy(() => {}, { get: () => Symbol('any'), getPrototypeOf: () => null, has: () => true });
}

function detached() {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const view = new Uint8Array(memory.buffer);
  memory.grow(1);
  return view;
}

class Liar extends Uint8Array {
  get byteLength() {
    return 1e12;
  }
  get buffer() {
    return changing();
  }
  static get [Symbol.species]() {
    return throwing();
  }
}

const inspected = {
  [Symbol.for('nodejs.util.inspect.custom')]: (...all) => {
    for (const one of all) judge(one, 'inspect');
    return '';
  },
};
const thenable = {
  // biome-ignore lint/suspicious/noThenProperty: it is one of the attacks.
  then: (...all) => {
    for (const one of all) judge(one, 'thenable');
  },
};

function hostile() {
  return [
    undefined,
    null,
    true,
    NaN,
    Infinity,
    -Infinity,
    -1,
    1e12,
    2 ** 53,
    10n,
    '',
    'latin1',
    '\ud800',
    'x'.repeat(100_000),
    Symbol('s'),
    {},
    Object.create(null),
    [],
    () => {},
    changing(),
    throwing(),
    ignoring(),
    detached(),
    new Liar(8),
    new DataView(new ArrayBuffer(8)),
    new SharedArrayBuffer(8),
    new Float64Array([NaN]),
    inspected,
    thenable,
    Promise.reject(changing()),
    new WebAssembly.Module(EMPTY_MODULE),
    { initial: changing(), maximum: throwing() },
    { fatal: changing(), ignoreBOM: ignoring() },
    { element: 'anyfunc', initial: 1e12 },
  ];
}

const EMPTY_MODULE = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** Functions that the realm was given, and those of the engine that call Node. */
function doors() {
  const found = [];
  const holders = {
    performance: globalThis.performance,
    crypto: globalThis.crypto,
    console,
    WebAssembly,
    Error,
    decoder: maker(globalThis.TextDecoder),
    encoder: maker(globalThis.TextEncoder),
  };
  for (const [name, holder] of Object.entries(holders)) {
    if (!holder) continue;
    for (const key of ownKeys(holder)) {
      const value = getOwnPropertyDescriptor(holder, key)?.value;
      if (typeof value === 'function') found.push([`${name}.${String(key)}`, value, holder]);
    }
  }
  for (const name of [
    'setTimeout',
    'clearTimeout',
    'TextDecoder',
    'TextEncoder',
    'read',
    'readbuffer',
    'load',
    'queueMicrotask',
    'structuredClone',
  ])
    if (globalThis[name]) found.push([name, globalThis[name], undefined]);
  return found;
}

function maker(Class) {
  if (!Class) return undefined;
  const made = new Class();
  return { decode: made.decode?.bind(made), encode: made.encode?.bind(made) };
}

/** Accesses that reach Node without a call: stacks, and the globals, which Node keeps. */
function silentDoors() {
  const named = (name, value) => {
    const error = new RangeError('x');
    error[name] = value;
    return error.stack;
  };
  const global = [
    (value) => {
      globalThis.bait = value;
    },
    () => globalThis.bait,
    () => delete globalThis.bait,
    (value) => Object.defineProperty(globalThis, 'bait', { get: () => value, set: throwing(), configurable: true }),
    (value) => Object.defineProperty(globalThis, value, { value, configurable: true }),
    (value) => globalThis[value],
    (value) => value in globalThis,
    () => getOwnPropertyDescriptor(globalThis, 'bait'),
    () => ownKeys(globalThis),
  ];
  return [
    (value) => named('name', value),
    (value) => named('message', value),
    (value) => new Error('x', { cause: value }).stack,
    (value) => {
      Error.prepareStackTrace = (_error, frames) => frames;
      Error.stackTraceLimit = value;
      try {
        return new Error('x').stack;
      } finally {
        delete Error.prepareStackTrace;
      }
    },
    (value) => {
      Error.prepareStackTrace = value;
      try {
        return new Error('x').stack;
      } finally {
        delete Error.prepareStackTrace;
      }
    },
    (value) => {
      const target = { name: value };
      Error.captureStackTrace(target);
      return target.stack;
    },
    ...global,
  ];
}

/** Calls with less and less of the stack left, down to where not even the first step of the call fits; judges once there is room again. */
function nearFull(where, call) {
  const outcomes = new Array(STEPS).fill();
  let left = STEPS;
  const deeper = () => {
    try {
      deeper();
    } catch (error) {
      if (left > 0) outcomes[left - 1] = error;
    }
    if (left === 0) return;
    left -= 1;
    try {
      outcomes[left] = call();
    } catch (error) {
      outcomes[left] = error;
    }
  };
  deeper();
  tried += STEPS;
  for (const outcome of outcomes) settle(where, outcome);
}

const STEPS = 60;

function everyCall(call) {
  for (const [where, door, receiver] of doors())
    for (const value of hostile()) {
      call(where, () => apply(door, receiver, [value]));
      call(where, () => apply(door, receiver, [() => {}, value]));
      call(where, () => apply(door, value, [value, value, value]));
      if (where !== 'Error.captureStackTrace') call(`new ${where}`, () => construct(door, [value, value]));
    }
  silentDoors().forEach((door, index) => {
    for (const value of hostile()) call(`silent ${index}`, () => door(value));
  });
}

export function start() {
  judge(globalThis, 'globals');
  everyCall(attempt);
  const values = hostile();
  for (const [where, door, receiver] of doors())
    for (const value of [values[7], values[19], values[20]])
      nearFull(`${where}, near a full stack`, () => apply(door, receiver, [value, value]));
  silentDoors().forEach((door, index) => {
    for (const value of [values[14], values[19]]) nearFull(`silent ${index}, near a full stack`, () => door(value));
  });
  poison();
  everyCall(attempt);
  const wait = globalThis.setTimeout;
  if (wait)
    wait(() => {
      over = true;
    }, 500);
  else over = true;
}

/** Changes the realm's own objects first, as hostile code may do. */
function poison() {
  const spy = (...all) => {
    for (const one of all) judge(one, 'poison');
    return all[0];
  };
  for (const name of ['handle', 'req', 'async', 'handle_', 'cause', 'toJSON', 'callback', 'owner', 'domain', 'signal'])
    Object.defineProperty(OWN, name, {
      get() {
        judge(this, name);
        return undefined;
      },
      set(value) {
        judge(this, name);
        judge(value, name);
      },
      configurable: true,
    });
  Object.defineProperty(Promise, Symbol.species, { get: () => Promise });
  Array.prototype[Symbol.iterator] = new Proxy(Array.prototype[Symbol.iterator], {
    apply: (target, self, all) => {
      judge(self, 'iterator');
      return apply(target, self, all);
    },
  });
  Function.prototype.call = function call(...all) {
    judge(this, 'call');
    spy(...all);
    return apply(this, all[0], all.slice(1));
  };
}

export function report() {
  return over ? JSON.stringify({ tried, open, foreign: [...foreign] }) : undefined;
}

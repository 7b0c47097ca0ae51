/** Makes an object that escapes from this realm harmless: nobody can change what Node's own code inherits from. */
import vm from 'node:vm';

/** Freezes everything reachable from the language's globals and syntax. Node's code still works: it changes none of this. */
export function freezeIntrinsics(): void {
  // If errors were writable, their stack frames would lead into Node.
  Object.defineProperty(Error, 'stackTraceLimit', { value: undefined, writable: false, configurable: false });
  // A fresh realm has only the language's globals; Node adds its own to the others.
  const names: readonly string[] = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
  const globals = [...names].filter((name) => name !== 'globalThis' && name !== 'console');
  const functions = [function* () {}, async () => {}, async function* () {}];
  const iterators = [[].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), ''.matchAll(/x/g)];
  const roots = [...globals.map((name) => Reflect.get(globalThis, name)), ...functions, ...iterators];
  const seen = new Set<object>();
  const queue = roots.filter(isObject);
  while (queue.length > 0) {
    const value = queue.pop();
    if (!value || seen.has(value)) continue;
    seen.add(value);
    // Its prototype, and the values, getters and setters of its properties.
    const properties = Object.values(Object.getOwnPropertyDescriptors(value));
    const symbols = Object.getOwnPropertySymbols(value).map((key) => Reflect.getOwnPropertyDescriptor(value, key));
    const parts = [...properties, ...symbols].flatMap((property) => [property?.value, property?.get, property?.set]);
    queue.push(...[Object.getPrototypeOf(value), ...parts].filter(isObject));
    Object.freeze(value);
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

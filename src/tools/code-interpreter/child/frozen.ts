/** Makes an object that escapes from this realm harmless: nobody can change what Node's own code inherits from. */
import vm from 'node:vm';

/** Freezes everything reachable from the language's globals and syntax. Node's code still works: it changes none of this. */
export function freezeIntrinsics(): void {
  // If errors were writable, their stack frames would lead into Node.
  Object.defineProperty(Error, 'stackTraceLimit', { value: undefined, writable: false, configurable: false });
  const seen = new Set<object>();
  const left = roots();
  for (let value = left.pop(); value; value = left.pop()) {
    if (seen.has(value)) continue;
    seen.add(value);
    left.push(...partsOf(value));
    Object.freeze(value);
  }
}

/** A fresh realm has only the language's globals; Node adds its own to the others. */
function roots(): object[] {
  const names: readonly string[] = vm.runInNewContext('Object.getOwnPropertyNames(globalThis)');
  const shared = [...names].filter((name) => name !== 'globalThis' && name !== 'console');
  const made = [function* () {}, async () => {}, async function* () {}, [].values(), new Map().values()];
  const iterators = [new Set().values(), ''[Symbol.iterator](), ''.matchAll(/x/g)];
  return [...shared.map((name) => Reflect.get(globalThis, name)), ...made, ...iterators].filter(isObject);
}

/** Its prototype, and the values, getters and setters of its properties. */
function partsOf(value: object): object[] {
  const properties = Object.values(Object.getOwnPropertyDescriptors(value));
  const symbols = Object.getOwnPropertySymbols(value).map((key) => Reflect.getOwnPropertyDescriptor(value, key));
  const parts = [...properties, ...symbols].flatMap((property) => [property?.value, property?.get, property?.set]);
  return [Object.getPrototypeOf(value), ...parts].filter(isObject);
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

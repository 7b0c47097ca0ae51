/** Finds and replaces the texts of a JSON value. */
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Returns the text that takes the place of one; `path` is where it stands. */
export type MapText = (text: string, path: string) => Promise<string>;

/** Fields that hold names, positions or data that no guard can read. */
const NO_TEXT: ReadonlySet<string> = new Set([
  ...['id', 'type', 'role', 'status', 'name', 'object', 'model', 'phase', 'detail', 'format', 'server_label'],
  ...['call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'file_id', 'container_id', 'approval_request_id'],
  ...['encrypted_content', 'providerState', 'signature', 'b64_json', 'file_data', 'data', 'result', 'logprobs'],
]);
const DATA_URL = 'data:';
/** More levels than any validated request or answer has. */
const DEEPEST = 200;
/** How many texts are inspected at the same time. */
const AT_ONCE = 8;

/** How texts are mapped. */
export interface TextMapping {
  readonly map: MapText;
  /** Members that stay as they are. */
  readonly known?: ReadonlySet<unknown> | undefined;
  /** Whether one text is mapped after another. */
  readonly inTurn?: boolean;
}

/** The value with its texts mapped, the strings in JSON arguments included; the same value if no text changes. */
export async function mapTexts(value: unknown, path: string, mapping: TextMapping): Promise<unknown> {
  const found: Place[] = [];
  collect(value, path, mapping.known, found, 0);
  if (found.length === 0) return value;
  const mapped = await mappedTexts(found, mapping);
  if (mapped.every((text, at) => text === found[at]?.text)) return value;
  const next = mapped.values();
  return rebuilt(value, mapping.known, () => next.next().value ?? '', 0);
}

/** A text, and where it stands. */
interface Place {
  readonly text: string;
  readonly path: string;
  readonly isJson: boolean;
}

async function mappedTexts(found: readonly Place[], { map, inTurn }: TextMapping): Promise<readonly string[]> {
  const mapped: string[] = [];
  const size = inTurn ? 1 : AT_ONCE;
  for (let at = 0; at < found.length; at += size) {
    const some = found.slice(at, at + size);
    mapped.push(...(await Promise.all(some.map((place) => mapPlace(place, map)))));
  }
  return mapped;
}

function mapPlace({ text, path, isJson }: Place, map: MapText): Promise<string> {
  return isJson ? mapJson(text, path, map) : map(text, path);
}

/** The JSON text with its strings mapped, or the same text if none changes; text that is not JSON is mapped as a whole. */
export async function mapJson(text: string, path: string, map: MapText): Promise<string> {
  const value = jsonIn(text);
  if (typeof value !== 'object' || value === null) return map(text, path);
  const mapped = await mapEvery(value, path, map, 0);
  return mapped === value ? text : JSON.stringify(mapped);
}

/** Every string of the value, whatever its field, and numbers that a guard would not let pass as text. */
async function mapEvery(value: unknown, path: string, map: MapText, depth: number): Promise<unknown> {
  if (depth > DEEPEST) return value;
  if (typeof value === 'string') return map(value, path);
  if (typeof value === 'number') return mapNumber(value, path, map);
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    // A few at a time, so that a service does not receive a thousand requests at once.
    for (const member of value) list.push(await mapEvery(member, path, map, depth + 1));
    return list.every((member, at) => member === value[at]) ? value : list;
  }
  if (!isRecord(value)) return value;
  const fields: [string, unknown][] = [];
  for (const [name, member] of Object.entries(value))
    fields.push([await map(name, path), await mapEvery(member, path, map, depth + 1)]);
  const changed = Object.entries(value).some(
    ([name, member], at) => fields[at]?.[0] !== name || fields[at]?.[1] !== member,
  );
  return changed ? Object.fromEntries(fields) : value;
}

async function mapNumber(value: number, path: string, map: MapText): Promise<unknown> {
  const text = String(value);
  const mapped = await map(text, path);
  return mapped === text ? value : mapped;
}

/** How a member of an object is read. */
interface Reading {
  /** The text is JSON of its own. */
  readonly isJson: boolean;
  /** A tool's input, all of whose fields are texts whatever their names. */
  readonly isInput: boolean;
}

const PLAIN: Reading = { isJson: false, isInput: false };
const INPUT: Reading = { isJson: false, isInput: true };

/** Undefined for a member without text. */
function readingOf(owner: JsonObject, name: string, { isInput }: Reading): Reading | undefined {
  if (isInput || (name === 'input' && isRecord(owner[name]))) return INPUT;
  if (name === 'data' && owner.type === 'text') return PLAIN;
  if (NO_TEXT.has(name)) return undefined;
  return name === 'arguments' ? { isJson: true, isInput: false } : PLAIN;
}

function collect(
  value: unknown,
  path: string,
  known: ReadonlySet<unknown> | undefined,
  found: Place[],
  depth: number,
  reading = PLAIN,
): void {
  if (typeof value === 'string') {
    if (isText(value)) found.push({ text: value, path, isJson: reading.isJson });
  } else if (depth < DEEPEST && Array.isArray(value)) {
    for (const [at, member] of value.entries())
      if (!known?.has(member)) collect(member, `${path}[${at}]`, undefined, found, depth + 1, inside(reading));
  } else if (depth < DEEPEST && isRecord(value)) collectFields(value, path, found, depth, reading);
}

function collectFields(value: JsonObject, path: string, found: Place[], depth: number, reading: Reading): void {
  for (const [name, member] of Object.entries(value)) {
    const next = readingOf(value, name, reading);
    if (next) collect(member, `${path}.${name}`, undefined, found, depth + 1, next);
  }
}

function inside({ isInput }: Reading): Reading {
  return isInput ? INPUT : PLAIN;
}

function isText(value: string): boolean {
  return value !== '' && !value.startsWith(DATA_URL);
}

/** Visits in the order of `collect`. */
function rebuilt(
  value: unknown,
  known: ReadonlySet<unknown> | undefined,
  next: () => string,
  depth: number,
  reading = PLAIN,
): unknown {
  if (typeof value === 'string') return isText(value) ? next() : value;
  if (depth < DEEPEST && Array.isArray(value))
    return value.map((member) =>
      known?.has(member) ? member : rebuilt(member, undefined, next, depth + 1, inside(reading)),
    );
  if (depth < DEEPEST && isRecord(value)) return rebuiltFields(value, next, depth, reading);
  return value;
}

function rebuiltFields(value: JsonObject, next: () => string, depth: number, reading: Reading): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const how = readingOf(value, name, reading);
      return [name, how ? rebuilt(member, undefined, next, depth + 1, how) : member];
    }),
  );
}

/** Finds and replaces the texts of a JSON value. */
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** Returns the text that takes the place of one; `path` is where it stands. */
export type MapText = (text: string, path: string) => Promise<string>;

/** Fields that hold names, positions or data that no guard can read. */
const NO_TEXT: ReadonlySet<string> = new Set([
  ...['id', 'type', 'role', 'status', 'name', 'object', 'model', 'phase', 'detail', 'format', 'server_label'],
  ...['call_id', 'tool_call_id', 'tool_use_id', 'item_id', 'file_id', 'container_id', 'approval_request_id'],
  ...[
    'encrypted_content',
    'providerState',
    'signature',
    'b64_json',
    'partial_image_b64',
    'file_data',
    'data',
    'result',
  ],
  ...['logprobs', 'obfuscation'],
]);
/** Fields that hold the address of a picture or a file, or the whole of it. */
const ADDRESSES: ReadonlySet<string> = new Set(['image_url', 'file_url', 'url', 'uri']);
const DATA_URL = 'data:';
/** Fields whose members have names of the client's own, such as the variables of a prompt. */
const DICTIONARIES: ReadonlySet<string> = new Set(['variables', 'attributes']);
/** More levels than any validated request or answer has. */
const DEEPEST = 200;
/** How many texts are inspected at the same time. */
const AT_ONCE = 8;

/** How texts are mapped. */
export interface TextMapping {
  readonly map: MapText;
  /** The same for JSON, such as arguments. Default: `map` for each of its strings. */
  readonly json?: MapText | undefined;
  /** Whether the model's texts are JSON as well. */
  readonly isJson?: boolean | undefined;
  /** Members that stay as they are. */
  readonly known?: ReadonlySet<unknown> | undefined;
  /** Whether one text is mapped after another. */
  readonly inTurn?: boolean;
}

/** The value with its texts mapped, the strings in JSON arguments included; the same value if no text changes. */
export async function mapTexts(value: unknown, path: string, mapping: TextMapping): Promise<unknown> {
  const found: Place[] = [];
  collect(value, path, mapping, found, 0);
  if (found.length === 0) return value;
  const mapped = await mappedTexts(found, mapping);
  if (mapped.every((text, at) => text === found[at]?.text)) return value;
  const next = mapped.values();
  return rebuilt(value, mapping, () => next.next().value ?? '', 0);
}

/** A text, and where it stands. */
interface Place {
  readonly text: string;
  readonly path: string;
  readonly isJson: boolean;
}

async function mappedTexts(found: readonly Place[], { map, json, inTurn }: TextMapping): Promise<readonly string[]> {
  const mapped: string[] = [];
  const size = inTurn ? 1 : AT_ONCE;
  for (let at = 0; at < found.length; at += size) {
    const some = found.slice(at, at + size);
    mapped.push(...(await Promise.all(some.map((place) => mapPlace(place, map, json)))));
  }
  return mapped;
}

function mapPlace({ text, path, isJson }: Place, map: MapText, json: MapText | undefined): Promise<string> {
  if (!isJson) return map(text, path);
  return json ? json(text, path) : mapJson(text, path, map);
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
  /** The names of its fields say nothing about what they hold. */
  readonly isDictionary: boolean;
}

const PLAIN: Reading = { isJson: false, isInput: false, isDictionary: false };
const INPUT: Reading = { ...PLAIN, isInput: true };
const JSON_TEXT: Reading = { ...PLAIN, isJson: true };
const DICTIONARY: Reading = { ...PLAIN, isDictionary: true };

/** The types of parts with the model's text. */
const ANSWERS: ReadonlySet<unknown> = new Set(['output_text', 'text']);

/** Undefined for a member without text. */
function readingOf(
  owner: JsonObject,
  name: string,
  { isInput, isDictionary }: Reading,
  { isJson }: TextMapping,
): Reading | undefined {
  const value = owner[name];
  if (isInput || (name === 'input' && isRecord(value))) return INPUT;
  if (isDictionary) return PLAIN;
  if (name === 'data' && (owner.type === 'text' || Array.isArray(value))) return PLAIN;
  if (NO_TEXT.has(name) || (ADDRESSES.has(name) && isData(value))) return undefined;
  if (name === 'arguments' || (isJson && name === 'text' && ANSWERS.has(owner.type))) return JSON_TEXT;
  return DICTIONARIES.has(name) ? DICTIONARY : PLAIN;
}

function isData(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith(DATA_URL);
}

function collect(
  value: unknown,
  path: string,
  mapping: TextMapping,
  found: Place[],
  depth: number,
  reading = PLAIN,
): void {
  if (typeof value === 'string') {
    if (value !== '') found.push({ text: value, path, isJson: reading.isJson });
  } else if (depth < DEEPEST && Array.isArray(value)) {
    for (const [at, member] of value.entries())
      if (!isKnown(member, depth, mapping))
        collect(member, `${path}[${at}]`, mapping, found, depth + 1, inside(reading));
  } else if (depth < DEEPEST && isRecord(value)) {
    for (const [name, member] of Object.entries(value)) {
      const next = readingOf(value, name, reading, mapping);
      if (next) collect(member, `${path}.${name}`, mapping, found, depth + 1, next);
    }
  }
}

/** Only members of the whole list are known. */
function isKnown(member: unknown, depth: number, { known }: TextMapping): boolean {
  return depth === 0 && known?.has(member) === true;
}

function inside({ isInput }: Reading): Reading {
  return isInput ? INPUT : PLAIN;
}

/** Visits in the order of `collect`. */
function rebuilt(value: unknown, mapping: TextMapping, next: () => string, depth: number, reading = PLAIN): unknown {
  if (typeof value === 'string') return value === '' ? '' : next();
  if (depth < DEEPEST && Array.isArray(value))
    return value.map((member) =>
      isKnown(member, depth, mapping) ? member : rebuilt(member, mapping, next, depth + 1, inside(reading)),
    );
  if (depth < DEEPEST && isRecord(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const how = readingOf(value, name, reading, mapping);
        return [name, how ? rebuilt(member, mapping, next, depth + 1, how) : member];
      }),
    );
  return value;
}

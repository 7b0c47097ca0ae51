/** Runs inside a program's realm: the program's own globals, its calls, and the answers to the host's questions. */

import type { Kind } from '../shared/kinds.ts';
import { defineProgramGlobals, type ProgramClock } from './program-globals.ts';
import { openChannel } from './shared-memory-channel.ts';
import { encodeUtf8 } from './text-coding.ts';

/** What the host begins a program with; it is checked there. */
interface Setup {
  readonly tools: readonly string[];
  readonly startedAt: number;
  readonly seed: string;
  readonly maxCalls: number;
  readonly maxArgumentBytes: number;
  readonly outputBytes: number;
}

/** A call that waits for its result. */
interface WaitingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

type Field = readonly [kind: Kind, data: Uint8Array];

const channel = openChannel();

/** The memory from which the process reads the answers. */
export const memory = channel.memory;

/** Kept from the program, which may put anything in their place. */
const { parse, stringify } = JSON;
const NativeError = Error;

let clock: ProgramClock | undefined;
let setup: Setup | undefined;
let written = '';
let failure: string | undefined;
let isOver = false;
let made = 0;
let waiting: WaitingCall[] = [];
let outgoing: Field[] = [];

/** Answers question 0: the realm is ready. */
export function ready(): void {
  void channel.send('done', new Uint8Array());
}

/** Prepares the globals; the setup is JSON, so that no object enters. `program` takes what the process then evaluates. */
export function prepareProgram(json: string): void {
  // The cast: the host has written it.
  const settings = parse(json) as Setup;
  setup = settings;
  clock = defineProgramGlobals(settings);
  const tools = Object.fromEntries(settings.tools.map((name) => [name, (args: unknown) => call(name, args)]));
  const log = (...values: readonly unknown[]) => write(values.map(shownText).join(' '));
  Object.assign(globalThis, {
    tools: Object.freeze(tools),
    text: (value: unknown) => write(shownText(value)),
    console: Object.fromEntries(['log', 'info', 'warn', 'error', 'debug'].map((name) => [name, log])),
    program: (run: () => Promise<unknown>) => {
      Reflect.deleteProperty(globalThis, 'program');
      void begin(run);
    },
  });
}

/** Ends a program that cannot be read. */
export function refuse(error: string): void {
  failure = error;
  isOver = true;
}

/** Gives the program the results of all calls that it waits for, as JSON. */
export function receive(json: string): void {
  const results = parse(json) as readonly { readonly text: string; readonly failed: boolean }[];
  const answered = waiting;
  waiting = [];
  for (const [at, { resolve, reject }] of answered.entries()) {
    const result = results[at];
    if (!result || result.failed) reject(new NativeError(result?.text ?? 'There is no result.'));
    else resolve(parsedResult(result.text));
  }
}

/** Answers the question, once the program waits for something that is not in this realm. */
export async function settle(): Promise<void> {
  for (;;) {
    await clock?.afterMicrotasks();
    if (outgoing.length > 0 || isOver) break;
    if (clock?.fireTimer()) continue;
    refuse('The program waits for something that never comes.');
  }
  const fields = outgoing;
  outgoing = [];
  if (fields.length === 0) {
    fields.push(['result', encodeUtf8(written)]);
    if (failure !== undefined) fields.push(['error', encodeUtf8(failure)]);
  }
  for (const [kind, data] of fields) await channel.send(kind, data);
  await channel.send('done', new Uint8Array());
}

async function begin(run: () => Promise<unknown>): Promise<void> {
  try {
    const value = await run();
    // Some models return what they were told to write.
    if (value !== undefined && written === '') write(shownText(value));
  } catch (error) {
    failure = errorText(error);
  }
  isOver = true;
}

function call(name: string, args: unknown = {}): Promise<unknown> {
  if (!setup || isOver) return Promise.reject(new NativeError('The program has ended.'));
  if (made >= setup.maxCalls)
    return Promise.reject(new NativeError(`A program may make at most ${setup.maxCalls} calls.`));
  // Free text is the one argument of some tools.
  const text = stringify(typeof args === 'string' ? { input: args } : args);
  if (typeof text !== 'string' || !text.startsWith('{'))
    return Promise.reject(new TypeError(`${name} takes one object with its arguments.`));
  const bytes = encodeUtf8(text);
  if (bytes.length > setup.maxArgumentBytes)
    return Promise.reject(new RangeError(`Arguments may have at most ${setup.maxArgumentBytes} bytes.`));
  made += 1;
  outgoing.push(['name', encodeUtf8(name)], ['data', bytes]);
  return new Promise((resolve, reject) => {
    waiting.push({ resolve, reject });
  });
}

function write(text: string): void {
  const limit = setup?.outputBytes ?? 0;
  const whole = written === '' ? text : `${written}\n${text}`;
  if (whole.length > limit) throw new RangeError(`A program may write at most ${limit} characters.`);
  written = whole;
}

function shownText(value: unknown): string {
  if (typeof value === 'string') return value;
  return stringify(value) ?? String(value);
}

/** JSON arrives parsed: the program need not know which tools answer with it. */
function parsedResult(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return parse(text);
  } catch {
    return text;
  }
}

function errorText(error: unknown): string {
  try {
    return error instanceof NativeError ? `${error.name}: ${error.message}` : shownText(error);
  } catch {
    return 'The program threw something that cannot be shown.';
  }
}

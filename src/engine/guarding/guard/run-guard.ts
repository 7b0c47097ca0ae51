/** Runs one guard over one text: applies its time limit, its mode and its `onFailure`. */
import { setMaxListeners } from 'node:events';
import type { Guard, GuardFinding, GuardScan, GuardVerdict } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { isPromise, isRecord } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { checkFindings, difference, type Edit } from './edits.ts';
import { GuardBlocked, type GuardContext, type GuardedPlace, guardFailed, reportFindings } from './guard-context.ts';

const TIMEOUT_MS = 5000;
const DEFAULT_RULES: Readonly<Record<string, string>> = { replace: 'REPLACED', block: 'BLOCKED' };
const MOST_REASON = 500;

/** What a guard found in a complete text. */
export interface Found {
  readonly findings: readonly GuardFinding[];
  /** Whether it wrote another text instead, so that the finding is all of the text between the first and the last change. */
  readonly isRewritten: boolean;
}

const NOTHING: Found = { findings: [], isRewritten: false };

/** What the guard finds in a text, before its mode is applied. Throws `GuardBlocked`, and `guard_failed`. */
export function findingsOf(guard: Guard, text: string, at: GuardedPlace, context: GuardContext): MaybePromise<Found> {
  if (text === '') return NOTHING;
  try {
    const found = decided(guard, text, at, context);
    return isPromise(found) ? found.catch((error) => failed(guard, error, at, context)) : found;
  } catch (error) {
    return failed(guard, error, at, context);
  }
}

/** The same for a guard that reports how much of a text that is still being written is decided. */
export function scanned(
  guard: Guard,
  text: string,
  from: number,
  isEnd: boolean,
  at: GuardedPlace,
  context: GuardContext,
): GuardScan {
  try {
    return checkedScan(guard.scan?.(text, from, isEnd), text, from, isEnd);
  } catch (error) {
    return { findings: failed(guard, error, at, context).findings, settled: text.length };
  }
}

/** A text that nests JSON so deeply that no guard can read it does not pass. Throws `GuardBlocked` unless the guard only reports. */
export function refuseDepth(guard: Guard, at: GuardedPlace, context: GuardContext): void {
  reportFindings(guard, ['NESTED'], guard.mode === 'monitor' ? 'observed' : 'blocked', at, context);
  if (guard.mode !== 'monitor') throw new GuardBlocked('It nests JSON in JSON too deeply.');
}

function checkedScan(scan: unknown, text: string, from: number, isEnd: boolean): GuardScan {
  const { findings, settled } = Object(scan);
  const isPlaced = Number.isInteger(settled) && settled >= from && settled <= text.length;
  if (!isPlaced || (isEnd && settled < text.length)) throw new TypeError('settled must be an index of the text');
  checkFindings(findings, from, settled);
  return { findings, settled };
}

/** The findings of the verdict; a block is thrown. */
function decided(guard: Guard, text: string, at: GuardedPlace, context: GuardContext): MaybePromise<Found> {
  const { tenant, requestId, request, signal } = context;
  // Guards stop when the client has left.
  signal.throwIfAborted();
  const controller = new AbortController();
  const verdict = guard.inspect({ text, ...at, tenant, requestId, request, signal: controller.signal });
  if (!isPromise(verdict)) return findingsIn(verdict, guard, text);
  return withinTime(guard, verdict, controller, signal).then((given) => findingsIn(given, guard, text));
}

async function withinTime(
  { name, timeoutMs = TIMEOUT_MS }: Guard,
  verdict: Promise<GuardVerdict>,
  controller: AbortController,
  left: AbortSignal,
): Promise<GuardVerdict> {
  const end = (reason: unknown) => controller.abort(reason);
  const follow = () => end(left.reason);
  const timer = setTimeout(() => end(new Error(`The guard '${name}' took longer than ${timeoutMs} ms.`)), timeoutMs);
  // Each call removes its listener, so more than Node's ten at once are no leak.
  setMaxListeners(Number.POSITIVE_INFINITY, left);
  left.addEventListener('abort', follow, { once: true });
  if (left.aborted) follow();
  try {
    return await untilAborted(controller.signal, () => verdict);
  } finally {
    clearTimeout(timer);
    left.removeEventListener('abort', follow);
    // A result after the time limit is ignored.
    Promise.resolve(verdict).catch(() => {});
  }
}

function findingsIn(verdict: unknown, { name }: Guard, text: string): Found {
  if (!isRecord(verdict)) throw new TypeError(`The guard '${name}' returned no verdict.`);
  const { action, reason, rule = DEFAULT_RULES[String(action)] ?? '' } = verdict;
  if (typeof rule !== 'string') throw new TypeError(`The guard '${name}' returned a rule that is not a string.`);
  if (action === 'pass') return NOTHING;
  if (action === 'block') throw new Verdict(String(reason ?? '').slice(0, MOST_REASON), rule);
  if (action === 'replace' && typeof verdict.text === 'string')
    return { findings: difference(text, verdict.text, rule), isRewritten: true };
  if (action !== 'replace') throw new TypeError(`The guard '${name}' returned an unknown action.`);
  checkFindings(verdict.findings, 0, text.length);
  return { findings: verdict.findings, isRewritten: false };
}

/** A verdict that blocks, before the mode is applied. */
class Verdict extends Error {
  readonly rule: string;

  constructor(reason: string, rule: string) {
    super(reason);
    this.rule = rule;
  }
}

/** The replacements of findings, which are reported. Throws `GuardBlocked`. */
export function applied(
  guard: Guard,
  text: string,
  findings: readonly GuardFinding[],
  at: GuardedPlace,
  context: GuardContext,
): readonly Edit[] {
  if (findings.length === 0) return [];
  const rules = findings.map(({ rule }) => rule);
  if (guard.mode === 'monitor') {
    reportFindings(guard, rules, 'observed', at, context);
    return [];
  }
  if (guard.mode === 'enforce') {
    reportFindings(guard, rules, 'blocked', at, context);
    throw new GuardBlocked(`It holds ${[...new Set(rules)].join(', ')}.`);
  }
  reportFindings(guard, rules, 'replaced', at, context);
  return findings.map(({ start, end, rule, text: given = `[${rule}]` }) => {
    const shown = guard.restore ? context.placeholders.of(rule, text.slice(start, end)) : given;
    return { start, end, rule, text: shown };
  });
}

/** Throws a block; otherwise the guard failed, and `onFailure` decides. */
function failed(guard: Guard, error: unknown, at: GuardedPlace, context: GuardContext): Found {
  context.signal.throwIfAborted();
  if (error instanceof Verdict) return blocked(guard, error, at, context);
  const passes = guard.mode === 'monitor' || guard.onFailure === 'pass';
  reportFindings(guard, ['failure'], passes ? 'passed' : 'blocked', at, context);
  // The host must learn of it here: only the model reads the error of a tool.
  if (passes || at.direction.startsWith('tool')) context.onFault(guard.name, error);
  if (!passes) throw guardFailed(guard, error);
  return NOTHING;
}

function blocked(guard: Guard, { message, rule }: Verdict, at: GuardedPlace, context: GuardContext): Found {
  reportFindings(guard, [rule], guard.mode === 'monitor' ? 'observed' : 'blocked', at, context);
  if (guard.mode === 'monitor') return NOTHING;
  throw new GuardBlocked(message);
}

/** Runs one guard over one text: applies its time limit, its mode and its `onFailure`. */
import { setMaxListeners } from 'node:events';
import type { Guard, GuardFinding, GuardScan, GuardVerdict } from '../../../ports/guard.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { ignoreRejection, isPromise, isRecord } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { checkFindings, type Edit, findDifference } from './edits.ts';
import { GuardBlocked, type GuardContext, type GuardedPlace, guardFailed, reportFindings } from './guard-context.ts';

const TIMEOUT_MS = 5000;
const DEFAULT_RULES: Readonly<Record<string, string>> = { replace: 'REPLACED', block: 'BLOCKED' };
const MAX_REASON = 500;

/** What a guard found in a complete text. */
export interface Inspection {
  readonly findings: readonly GuardFinding[];
  /** Whether it wrote another text instead, so that the finding is all of the text between the first and the last change. */
  readonly isRewritten: boolean;
}

const NOTHING: Inspection = { findings: [], isRewritten: false };

/** What the guard finds in a text, before its mode is applied. Throws `GuardBlocked`, and `guard_failed`. */
export function inspectText(
  guard: Guard,
  text: string,
  at: GuardedPlace,
  context: GuardContext,
): MaybePromise<Inspection> {
  if (text === '') return NOTHING;
  try {
    const inspection = askGuard(guard, text, at, context);
    if (!isPromise(inspection)) return inspection;
    return inspection.catch((error) => handleFailure(guard, error, at, context));
  } catch (error) {
    return handleFailure(guard, error, at, context);
  }
}

/** The same for a guard that reports how much of a text that is still being written is decided. */
export function scanText(
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
    return { findings: handleFailure(guard, error, at, context).findings, settled: text.length };
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
  if (!isPlaced || (isEnd && settled < text.length)) {
    ignoreRejection(scan);
    throw new TypeError('settled must be an index of the text');
  }
  checkFindings(findings, from, settled);
  return { findings, settled };
}

/** The findings of the verdict; a block is thrown. */
function askGuard(guard: Guard, text: string, at: GuardedPlace, context: GuardContext): MaybePromise<Inspection> {
  const { scope, requestId, request, signal } = context;
  // Guards stop when the client has left.
  signal.throwIfAborted();
  const controller = new AbortController();
  const verdict = guard.inspect({ text, ...at, scope, requestId, request, signal: controller.signal });
  if (!isPromise(verdict)) return readVerdict(verdict, guard, text);
  return awaitVerdict(guard, verdict, controller, signal).then((value) => readVerdict(value, guard, text));
}

async function awaitVerdict(
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

function readVerdict(verdict: unknown, { name }: Guard, text: string): Inspection {
  if (!isRecord(verdict)) throw new TypeError(`The guard '${name}' returned no verdict.`);
  const { action, reason, rule = DEFAULT_RULES[String(action)] ?? '' } = verdict;
  if (typeof rule !== 'string') throw new TypeError(`The guard '${name}' returned a rule that is not a string.`);
  if (action === 'pass') return NOTHING;
  if (action === 'block') throw new BlockVerdict(String(reason ?? '').slice(0, MAX_REASON), rule);
  if (action === 'replace' && typeof verdict.text === 'string')
    return { findings: findDifference(text, verdict.text, rule), isRewritten: true };
  if (action !== 'replace') throw new TypeError(`The guard '${name}' returned an unknown action.`);
  checkFindings(verdict.findings, 0, text.length);
  return { findings: verdict.findings, isRewritten: false };
}

/** A verdict that blocks, before the mode is applied. */
class BlockVerdict extends Error {
  readonly rule: string;

  constructor(reason: string, rule: string) {
    super(reason);
    this.rule = rule;
  }
}

/** The replacements of findings, which are reported. Throws `GuardBlocked`. */
export function editsForFindings(
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
  return findings.map(({ start, end, rule, text: replacement = `[${rule}]` }) => {
    const shown = guard.restore ? context.placeholders.of(rule, text.slice(start, end)) : replacement;
    return { start, end, rule, text: shown };
  });
}

/** Throws a block; otherwise the guard failed, and `onFailure` decides. */
function handleFailure(guard: Guard, error: unknown, at: GuardedPlace, context: GuardContext): Inspection {
  context.signal.throwIfAborted();
  if (error instanceof BlockVerdict) {
    reportFindings(guard, [error.rule], guard.mode === 'monitor' ? 'observed' : 'blocked', at, context);
    if (guard.mode === 'monitor') return NOTHING;
    throw new GuardBlocked(error.message);
  }
  const passes = guard.mode === 'monitor' || guard.onFailure === 'pass';
  reportFindings(guard, ['failure'], passes ? 'passed' : 'blocked', at, context);
  // The host must learn of it here: only the model reads the error of a tool.
  if (passes || at.direction.startsWith('tool')) context.onFault(guard.name, error);
  if (!passes) throw guardFailed(guard, error);
  return NOTHING;
}

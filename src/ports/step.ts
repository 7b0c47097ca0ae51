/** The steps of a request, as the host may watch them: names, numbers and times, and never content. */
import { mapMaybePromise } from '../protocol/record.ts';
import type { ModelAttempt } from './upstream.ts';

/** One step; `ms` is how long it took, or since the request began. */
export type Step =
  | Named<'request received', { endpoint: string; model: string | undefined; stream: boolean }>
  | Named<'history loaded', { items: number; ms: number }>
  | Named<'upstream asked', ModelAttempt>
  | Named<'first output', { ms: number }>
  | Named<'tool called', { tool: string; server: string; ms: number; ok: boolean }>
  | Named<'stored', { ms: number }>
  | Named<'answered', { status: number; ms: number }>
  | Named<'failed', { code: string; status: number }>
  | Named<'ended', { responseId: string; status: string; ms: number; inputTokens: number; outputTokens: number }>;

type Named<Name extends string, Facts extends object> = Readonly<{ name: Name; requestId: string } & Facts>;

/** Receives the steps. */
export type OnStep = (step: Step) => void;

/** Runs the work, and reports its end with the milliseconds that it took; without a reader of steps it only runs it. */
export function reportStep<Value>(
  onStep: OnStep | undefined,
  work: () => Value | Promise<Value>,
  step: (value: Value, ms: number) => Step | undefined,
): Value | Promise<Value> {
  if (!onStep) return work();
  const elapsed = stopwatch();
  return mapMaybePromise(work(), (value) => {
    const done = step(value, elapsed());
    if (done) onStep(done);
    return value;
  });
}

/** Returns a function that returns the whole milliseconds since now. */
export function stopwatch(): () => number {
  const began = performance.now();
  return () => Math.round(performance.now() - began);
}

/** Texts behind guards, without a router. */
import { applyEdits } from '../../../src/engine/guarding/guard/edits.ts';
import { guardSettings } from '../../../src/engine/guarding/guard/settings.ts';
import { guardSession, RequestGuards } from '../../../src/engine/guarding/request/request-guards.ts';
import type { Guard, GuardInfo, GuardOptions } from '../../../src/ports/guard.ts';

/** The guards of one request, and what they report. */
export function requestGuards(options: GuardOptions, signal: AbortSignal = new AbortController().signal) {
  const reports: GuardInfo[] = [];
  const settings = guardSettings('test', options);
  if (!settings) throw new Error('There is no guard.');
  const request = { scope: 'tenant', requestId: 'req_1', request: undefined, signal };
  const hooks = { onGuard: (info: GuardInfo) => void reports.push(info) };
  return { guards: new RequestGuards([guardSession(settings, request, hooks, false)]), reports };
}

/** What a guard makes of a whole text. */
export function redacted(guard: Guard, text: string): string {
  const { findings } = guard.scan?.(text, 0, true) ?? { findings: [] };
  return applyEdits(
    text,
    findings.map((finding) => ({ ...finding, text: finding.text ?? `[${finding.rule}]` })),
  );
}

/** What comes out of a stream with the text in pieces of these sizes, again and again. */
export async function guardedInPieces(guard: Guard, text: string, sizes: readonly number[]): Promise<string> {
  const track = requestGuards({ output: [guard] }).guards.textTrack('text');
  let out = '';
  for (const piece of inPieces(text, sizes)) out += await track.write(piece);
  return out + (await track.end());
}

/** The text in pieces of these sizes, again and again. */
export function inPieces(text: string, sizes: readonly number[]): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0, index = 0; at < text.length; index += 1) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

/** What is shown of a whole text: as `redacted`, but JSON and escapes in it are read as such. */
export async function shownOf(guard: Guard, text: string): Promise<string> {
  return /[\\[{]/.test(text) ? guardedInPieces(guard, text, [text.length]) : redacted(guard, text);
}

/** Without the punctuation of JSON: what looks like JSON keeps its own in a stream, before it turns out to be none. */
export function withoutPunctuation(text: string): string {
  return text.replaceAll(/["{}[\]:,\s]/g, '');
}

/** Decides which calls a request allows a model, and what a model is told that makes another: the loops of all APIs ask here. */
import type { CallRefusal } from '../../../protocol/events.ts';
import type { Item } from '../../../protocol/items.ts';
import type { Note } from '../../../protocol/note.ts';
import { toModelSafeName } from '../../../protocol/tool-calls/names/tool-names.ts';
import type { RoundCall } from './tool-rounds.ts';

/** What a request says of the calls that the model may make. */
export interface CallRules {
  /** The only tools that may be called; empty for none, undefined for all. */
  readonly allowedTools?: ReadonlySet<string> | undefined;
  /** The tools that may not be called, whatever else may; undefined for none. */
  readonly deniedTools?: ReadonlySet<string> | undefined;
  /** Whether no tool can have this name, so that nobody could answer the call. Default: any may. */
  readonly isUnknownName?: ((name: string) => boolean) | undefined;
  /** The tool that the model must call first; until it has, it may call no other. */
  readonly forcedTool?: string | undefined;
  /** Whether an answer of the model may hold one call only. */
  readonly singleCall?: boolean | undefined;
  /** Whether the model must call some tool first. */
  readonly needsCall?: boolean | undefined;
}

/** What one answer of the model has come to when it begins a call. */
interface AnswerSoFar {
  /** Whether the request's forced tool is still to be called. */
  readonly isForced: boolean;
  /** Whether the answer holds a call that is allowed. */
  readonly hasCall: boolean;
}

/** Why the model may not call this tool now; undefined if it may. */
export function callRefusal(
  { allowedTools, deniedTools, isUnknownName, forcedTool, singleCall }: CallRules,
  name: string,
  { isForced, hasCall }: AnswerSoFar,
): CallRefusal | undefined {
  if (allowedTools?.has(name) === false || deniedTools?.has(name)) return 'not_allowed';
  if (isUnknownName?.(name)) return 'unknown';
  if (isForced && forcedTool !== undefined && name !== forcedTool) return 'not_forced';
  return singleCall && hasCall ? 'not_alone' : undefined;
}

/**
 * Whether a name that none of these tools has is one of theirs in another case, or none that a tool can have, such as `functions.search`. Any other
 * may be the client's, which may have more tools than it sent.
 */
export function unknownNameTest(names: Iterable<string>): (name: string) => boolean {
  const known = new Set(names);
  const folded = new Set([...known].map((name) => name.toLowerCase()));
  return (name) => !known.has(name) && (folded.has(name.toLowerCase()) || name !== toModelSafeName(name));
}

/** Whether any call can be refused: without such rules, an answer need not be held back. */
export function canRefuse({ allowedTools, deniedTools, forcedTool, singleCall }: CallRules): boolean {
  return allowedTools !== undefined || deniedTools !== undefined || forcedTool !== undefined || singleCall === true;
}

/** A call that was refused, with the reason. */
export interface RefusedCall extends RoundCall {
  readonly id: string;
  readonly why: CallRefusal;
}

const NOTED: Readonly<Record<CallRefusal, string>> = {
  not_allowed: 'which the request does not allow',
  unknown: 'which does not exist',
  not_forced: 'where tool_choice forces another tool',
  not_alone: 'beside another call, which parallel_tool_calls does not allow',
};

/** What the host's log receives of a refused call. */
export function refusalNote(name: string, why: CallRefusal): Note {
  return { code: 'call_dropped', message: `The model called '${name}', ${NOTED[why]}.` };
}

/** What the host's log receives where the model's answer lacks the call that the request demands. */
export function lacksCallNote({ forcedTool }: CallRules): Note {
  const demanded = forcedTool === undefined ? 'no tool' : `not '${forcedTool}'`;
  return { code: 'call_missing', message: `The model called ${demanded}, although tool_choice demands it.` };
}

/** The most names in a message to the model. */
const MAX_NAMES = 32;
/** The most characters of a name that the model made up. */
const MAX_NAME = 100;

/** What the model receives as the result of the call; `offered` are the names of the tools that it was offered. */
export function refusalText({ name, why }: RefusedCall, rules: CallRules, offered: readonly string[]): string {
  const called = `'${name.slice(0, MAX_NAME)}'`;
  if (why === 'not_alone') return `Not run: one call at a time. Call ${called} again if it is still needed.`;
  if (why === 'not_forced') return `Not run: ${called} may not be called yet. Call ${rules.forcedTool}.`;
  const callable = offered.filter((each) => rules.allowedTools?.has(each) !== false);
  if (callable.length === 0) return 'Not run: no tool may be called for this answer. Answer with text.';
  const more = callable.length > MAX_NAMES ? ', …' : '';
  const reason = why === 'unknown' ? `there is no tool ${called}` : `${called} is not allowed for this answer`;
  return `Not run: ${reason}. Call one of: ${callable.slice(0, MAX_NAMES).join(', ')}${more}`;
}

/** The call as the model server receives it, which may refuse a name that no tool can have, and what the model is told. `id` is that of its item. */
export function toRefusalItems(
  call: RefusedCall,
  id: string,
  rules: CallRules,
  offered: readonly string[],
): readonly Item[] {
  const { id: call_id, name, arguments: text } = call;
  return [
    { type: 'function_call', id, call_id, name: toModelSafeName(name), arguments: text === '' ? '{}' : text },
    { type: 'function_call_output', call_id, output: refusalText(call, rules, offered) },
  ];
}

/** After so many answers with calls that are not allowed, the model is offered the allowed tools only. */
const MAX_REFUSALS = 2;

/** The tools that the model is offered after so many answers with calls that it may not make. */
export function toolsAfterRefusals<Tool>(
  refusals: number,
  tools: readonly Tool[],
  { allowedTools }: CallRules,
  nameOf: (tool: Tool) => string,
): readonly Tool[] {
  return refusals < MAX_REFUSALS || !allowedTools ? tools : tools.filter((tool) => allowedTools.has(nameOf(tool)));
}

/** As many refusals as make the allowed tools the only ones, for hosts that want no others offered. */
export const OFFERS_ALLOWED_ONLY = MAX_REFUSALS;

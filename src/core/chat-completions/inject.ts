/** Puts the server's tools into a Chat Completions body. */
import { isRecord } from '../record.ts';
import { definitions, type Offer } from '../tools/offer.ts';
import type { ChatBody } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The names of the client's own tools, custom ones and legacy functions included. */
export function chatToolNames({ tools, functions }: Fields): ReadonlySet<string> {
  const named = [...list(tools).map(({ function: called, custom }) => called ?? custom), ...list(functions)];
  return new Set(named.filter(isRecord).map(({ name }) => String(name)));
}

function list(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/**
 * The body with the tools behind the client's own, in the legacy field where the client uses that; and asking for the
 * usage, which has to be summed. A body without such tools is left as it is.
 */
export function withTools(body: ChatBody, offer: Offer): ChatBody {
  if (offer.size === 0) return body;
  const functions = definitions(offer).map((tool) => ({ parameters: { type: 'object', properties: {} }, ...tool }));
  const counted = body.stream ? { stream_options: { ...Object(body.stream_options), include_usage: true } } : {};
  if (isLegacy(body)) return { ...body, ...counted, functions: [...list(body.functions), ...functions] };
  const tools = functions.map((each) => ({ type: 'function', function: each }));
  return { ...body, ...counted, tools: [...list(body.tools), ...tools] };
}

/** Whether the client uses the fields that `tools` took the place of. */
export function isLegacy({ functions }: Fields): boolean {
  return Array.isArray(functions);
}

/** Whether the client asked for a usage chunk. */
export function wantsUsage({ stream_options: options }: Fields): boolean {
  return isRecord(options) && options.include_usage === true;
}

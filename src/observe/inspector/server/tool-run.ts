/** Runs one tool as the page asks: a tool of an observed router, outside of any response. */
import type { IncomingMessage } from 'node:http';
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import { wrongIn } from '../../../protocol/json/check-value.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import { bytesOf, readWhole } from '../../../streams/bytes.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { ToolCounts } from '../observing/counts.ts';
import { type OfferedTool, offeredTools } from './part-views.ts';

const MOST_BYTES = 1024 * 1024;
const LONGEST_MS = 60_000;
/** Characters of the result that the page receives. */
const SHOWN = 200_000;
/** The tenant for whom tools run here: a name that no client has. */
const OWN_SCOPE = 'inspector';

/** Where the tools are, and where their calls are counted. */
interface RunSettings {
  readonly providers: ReadonlySet<ToolProvider<never>>;
  readonly counts: ToolCounts;
  /** Whether texts of tools may be kept. */
  readonly keepsText: boolean;
  readonly requestId: string;
  /** Aborted when the page leaves. */
  readonly signal: AbortSignal;
}

/** A status and a body for the page. */
interface RunAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Never rejects because of the tool: its failure is a result, too. */
export async function runTool(req: IncomingMessage, settings: RunSettings): Promise<RunAnswer> {
  if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) return refused(415, 'Send application/json.');
  const body = await bodyOf(req);
  if (body === undefined) return refused(413, `The body may have ${MOST_BYTES} bytes.`);
  const { server, name, arguments: args } = isRecord(body) ? body : {};
  if (!isRecord(args)) return refused(400, 'The arguments must be a JSON object.');
  const offered = (await offeredTools(settings.providers)).find(
    ({ tool }) => tool.server === server && tool.name === name,
  );
  if (!offered) return refused(404, 'This tool is not offered now.');
  if (offered.tool.requestedBy) return refused(400, 'This tool needs the request of a response.');
  const wrong = wrongIn(args, JSON.stringify(args), offered.tool.parameters ?? {});
  return wrong ? refused(400, `The schema refuses the arguments: ${wrong}`) : run(offered, args, req, settings);
}

function refused(status: number, error: string): RunAnswer {
  return { status, body: { error } };
}

/** As the host's own parser has read it, or as it arrives; undefined if it is too large. */
async function bodyOf(req: IncomingMessage & { readonly body?: unknown }): Promise<unknown> {
  if (isRecord(req.body)) return req.body;
  const text = await readWhole(bytesOf(req), MOST_BYTES).catch(() => undefined);
  return text === undefined ? undefined : (jsonIn(text) ?? null);
}

async function run(
  { tool: { server, name }, provider }: OfferedTool,
  args: JsonObject,
  request: IncomingMessage,
  { counts, keepsText, requestId, signal: leaves }: RunSettings,
): Promise<RunAnswer> {
  const signal = AbortSignal.any([leaves, AbortSignal.timeout(LONGEST_MS)]);
  // The cast: the observed routers have requests of the same framework.
  const call = { server, name, arguments: args, scope: OWN_SCOPE, requestId, request: request as never };
  const began = performance.now();
  const { text, isError } = await outcome(() => untilAborted(signal, () => provider.call(call, signal)));
  const durationMs = performance.now() - began;
  counts.add({ server, name, durationMs, error: isError ? failureIn(text, keepsText) : undefined });
  const shown = withoutKeys(text.slice(0, SHOWN));
  return { status: 200, body: { durationMs, isError, text: shown, cut: Math.max(text.length - SHOWN, 0) } };
}

function failureIn(text: string, keepsText: boolean): string {
  return keepsText ? text : 'The tool failed.';
}

async function outcome(call: () => ReturnType<ToolProvider['call']>) {
  try {
    const { content, isError = false } = await call();
    return { text: typeof content === 'string' ? content : JSON.stringify(content, null, 2), isError };
  } catch (error) {
    return { text: error instanceof Error ? error.message : String(error), isError: true };
  }
}

/** Runs one tool as the page asks: a tool of an observed router, outside of any response. */
import type { IncomingMessage } from 'node:http';
import type { ToolProvider } from '../../../ports/tool-provider.ts';
import { wrongIn } from '../../../protocol/json/check-value.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import { readWhole, streamBytes } from '../../../streams/bytes.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import type { ToolCounts } from '../observing/counts.ts';
import { type OfferedTool, offeredTools } from './part-views.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_RUN_MS = 60_000;
/** Characters of the result that the page receives. */
const MAX_RESULT = 200_000;
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
export async function runTool(
  req: IncomingMessage & { readonly body?: unknown },
  settings: RunSettings,
): Promise<RunAnswer> {
  if (!/^application\/json\b/i.test(req.headers['content-type'] ?? '')) return refuseRun(415, 'Send application/json.');
  // As the host's own parser has read it, or as it arrives.
  let { body } = req;
  if (!isRecord(body)) {
    const json = await readWhole(streamBytes(req), MAX_BYTES).catch(() => undefined);
    if (json === undefined) return refuseRun(413, `The body may have ${MAX_BYTES} bytes.`);
    body = jsonIn(json);
  }
  const { server, name, arguments: args } = isRecord(body) ? body : {};
  if (!isRecord(args)) return refuseRun(400, 'The arguments must be a JSON object.');
  const offered = (await offeredTools(settings.providers)).find(
    ({ tool }) => tool.server === server && tool.name === name,
  );
  if (!offered) return refuseRun(404, 'This tool is not offered now.');
  if (offered.tool.requestedBy) return refuseRun(400, 'This tool needs the request of a response.');
  const problem = wrongIn(args, JSON.stringify(args), offered.tool.parameters ?? {});
  return problem
    ? refuseRun(400, `The schema refuses the arguments: ${problem}`)
    : callTool(offered, args, req, settings);
}

function refuseRun(status: number, error: string): RunAnswer {
  return { status, body: { error } };
}

async function callTool(
  { tool: { server, name }, provider }: OfferedTool,
  args: JsonObject,
  request: IncomingMessage,
  { counts, keepsText, requestId, signal: left }: RunSettings,
): Promise<RunAnswer> {
  const signal = AbortSignal.any([left, AbortSignal.timeout(MAX_RUN_MS)]);
  // The cast: the observed routers have requests of the same framework.
  const call = { server, name, arguments: args, scope: OWN_SCOPE, requestId, request: request as never };
  const began = performance.now();
  let text: string;
  let isError = false;
  try {
    const result = await untilAborted(signal, () => provider.call(call, signal));
    text = typeof result.content === 'string' ? result.content : JSON.stringify(result.content, null, 2);
    isError = result.isError ?? false;
  } catch (error) {
    text = error instanceof Error ? error.message : String(error);
    isError = true;
  }
  const durationMs = performance.now() - began;
  const failure = keepsText ? text : 'The tool failed.';
  counts.add({ server, name, durationMs, error: isError ? failure : undefined });
  const cut = Math.max(text.length - MAX_RESULT, 0);
  return { status: 200, body: { durationMs, isError, text: withoutKeys(text.slice(0, MAX_RESULT)), cut } };
}

/** `POST /responses/{id}/submit_tool_outputs`: goes on with a response whose calls the client has run. */
import { z } from 'zod';
import type { Activity } from '../activity.ts';
import type { Call } from '../call.ts';
import { answered } from '../endpoint.ts';
import { ApiError } from '../errors.ts';
import type { CoreSettings } from '../options.ts';
import { settingsFor } from '../options.ts';
import { isRecord } from '../record.ts';
import type { Reply } from '../reply.ts';
import { createResponse } from '../responses/create.ts';
import { invalid } from '../responses/invalid.ts';
import type { Route } from '../routes.ts';
import { fromStore, type StoredResponse } from '../store.ts';
import type { Fields } from './dialect.ts';
import { openCalls } from './tokligence.ts';

const bodySchema = z.looseObject({
  tool_outputs: z
    .array(z.looseObject({ tool_call_id: z.string().nullish(), call_id: z.string().nullish(), output: z.unknown() }))
    .min(1),
  stream: z.boolean().nullish(),
});

type Output = z.infer<typeof bodySchema>['tool_outputs'][number];

/** The route; other dialects do not have it. */
export function submitRoutes(settings: CoreSettings, turns: Activity): readonly Route[] {
  const submit = async (call: Call): Promise<Reply> => {
    if (settings.dialectOf(call.request).name !== 'tokligence')
      throw new ApiError('not_found', 'Invalid URL: this server takes tool outputs as input of the next response.');
    return createResponse(await continued(call, settings), settingsFor(settings, call), turns);
  };
  return [{ method: 'POST', path: '/responses/:id/submit_tool_outputs', endpoint: answered(submit, settings) }];
}

/** The call as a request for the next response, under the settings of the one that it goes on with. */
async function continued(call: Call, { store }: CoreSettings): Promise<Call> {
  const id = String(call.params.id);
  const { tool_outputs: outputs, stream } = checked(call.body);
  const stored = await fromStore(() => store.get({ scope: call.scope, id }));
  if (!stored)
    throw new ApiError('response_not_found', `Response with id '${id}' not found.`, { param: 'response_id' });
  const input = outputItems(outputs, openCalls(stored.output));
  return { ...call, body: { ...inherited(stored), previous_response_id: id, input, stream } };
}

function checked(body: unknown): z.infer<typeof bodySchema> {
  if (!isRecord(body)) throw new ApiError('invalid_json', 'The request body must be a JSON object.');
  const result = bodySchema.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  return result.data;
}

const KEPT = [
  'model',
  'instructions',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'max_output_tokens',
  'max_tool_calls',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'top_logprobs',
  'truncation',
  'metadata',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
  'user',
  'store',
  'tools',
] as const;

/** One turn in two requests: only a forced choice does not hold for the second. */
function inherited({ resource }: StoredResponse): Fields {
  return Object.fromEntries(KEPT.map((key) => [key, resource[key]]).filter(([, value]) => value !== undefined));
}

/** One output for each open call, by its call id or its item's. Throws, naming the ids that do not fit. */
function outputItems(outputs: readonly Output[], calls: readonly Fields[]): readonly Fields[] {
  const items = outputs.map((each) => {
    const id = each.tool_call_id ?? each.call_id;
    const call = calls.find((open) => open.call_id === id || open.id === id);
    return { id, call, output: textOf(each.output) };
  });
  const unknown = items.filter(({ call }) => !call).map(({ id }) => id);
  if (unknown.length > 0) throw unfit(`No open tool call with the id ${quoted(unknown)}.`);
  const missing = calls.filter((open) => !items.some(({ call }) => call === open)).map((open) => open.call_id);
  if (missing.length > 0) throw unfit(`No tool output found for function call ${quoted(missing)}.`);
  return items.map(({ call, output }) => ({ type: 'function_call_output', call_id: call?.call_id, output }));
}

function textOf(output: unknown): unknown {
  return typeof output === 'string' || Array.isArray(output) ? output : JSON.stringify(output ?? '');
}

function quoted(ids: readonly unknown[]): string {
  return ids.map((id) => `'${id}'`).join(', ');
}

function unfit(message: string): ApiError {
  return new ApiError('invalid_value', message, { param: 'tool_outputs' });
}

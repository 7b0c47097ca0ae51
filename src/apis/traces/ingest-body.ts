/** The body of `POST /traces/ingest`: traces and ended spans in one list, as the agents SDKs of both languages write them. */

import type { AgentSpan, AgentTrace } from '../../ports/host/trace-receiver.ts';
import type { Limits } from '../../ports/limits.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { fields, listSchema } from '../../protocol/json/schema-kinds.ts';
import { isRecord, type JsonObject, textOrNone } from '../../protocol/record.ts';
import { invalid } from '../../protocol/responses/invalid.ts';

/** The Python SDK exports its whole queue at once, which holds 8,192. */
const MAX_ITEMS = 10_000;
const MAX_ID = 128;
const MAX_NAME = 1024;
const MAX_TIME = 64;

/** The body. */
export const ingestSchema = lazily((z) => {
  const id = z.string().min(1).max(MAX_ID);
  const name = z.string().max(MAX_NAME).nullish();
  const time = z
    .string()
    .max(MAX_TIME)
    .refine((text) => Number.isFinite(Date.parse(text)), { error: 'it must be a time in ISO 8601' })
    .nullish();
  const trace = z.object({
    object: z.literal('trace'),
    id,
    workflow_name: name,
    group_id: name,
    metadata: fields().nullish(),
  });
  const span = z.object({
    object: z.literal('trace.span'),
    id,
    trace_id: id,
    parent_id: id.nullish(),
    started_at: time,
    ended_at: time,
    span_data: z.object({ type: z.string().min(1).max(MAX_ID) }),
    error: z.object({ message: z.string() }).nullish(),
  });
  return z.object({ data: listSchema(z.discriminatedUnion('object', [trace, span]), MAX_ITEMS) });
});

/** Throws `ApiError` naming the field at fault, such as `data[3].span_data`; then nothing of the body is taken. */
export function readIngest(
  given: unknown,
  limits: Limits,
): { readonly traces: readonly AgentTrace[]; readonly spans: readonly AgentSpan[] } {
  const body = bodyFields(given, limits);
  const result = ingestSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const traces: AgentTrace[] = [];
  const spans: AgentSpan[] = [];
  const now = Date.now();
  for (const item of result.data.data) {
    if (item.object === 'trace') {
      traces.push({ id: item.id, name: item.workflow_name ?? '', groupId: item.group_id ?? null });
      continue;
    }
    const { id, trace_id: traceId, parent_id: parentId = null, span_data: data, error } = item;
    // A list keeps its members as they are, with the fields that no schema names.
    const endedAt = item.ended_at ? Date.parse(item.ended_at) : now;
    const startedAt = item.started_at ? Date.parse(item.started_at) : endedAt;
    spans.push({
      ...{ id, traceId, parentId, data, error: error?.message ?? null },
      ...{ startedAt, endedAt: Math.max(startedAt, endedAt), responseId: responseIdIn(data) },
    });
  }
  return { traces, spans };
}

/** A span of a response names it; that of a chat completion holds it, in the SDK of JavaScript and in streams. */
function responseIdIn({ response_id: named, output }: JsonObject): string | undefined {
  const [first] = Array.isArray(output) ? output : [];
  const id = textOrNone(named) || textOrNone(isRecord(first) && first.choices !== undefined ? first.id : undefined);
  return id === '' || id.length > MAX_ID ? undefined : id;
}

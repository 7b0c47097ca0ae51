/** Embeddings as lines of batches ask for them: the model server's own answer, within the places, budgets and guards of the tenant. */

import { guardBody } from '../../engine/guarding/request/guarded-body.ts';
import { collectGuards, type GuardingSettings } from '../../engine/guarding/request/guards-of.ts';
import { type BudgetSettings, withBudget } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, withinTurn } from '../../engine/turn/lifetime.ts';
import type { Limits } from '../../ports/limits.ts';
import type { Upstream, UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { JSON_HEADERS, type Reply, withHeaders } from '../../protocol/reply.ts';
import { untilRead } from '../../streams/bytes.ts';
import { type EndpointSettings, endpointFor, passedHeaders } from './endpoint.ts';
import { noteReporter } from './prepare.ts';
import type { Route } from './routes.ts';

/** The host's options that embeddings need. */
type EmbeddingSettings = EndpointSettings & BudgetSettings & GuardingSettings & { readonly limits: Limits };

/** An upstream that passes on what no API of this package makes. */
type Passing = Required<Pick<Upstream, 'pass'>>;

/** The route, where the model server's requests can be passed on: for requests of this process alone, and not for HTTP. */
export function embeddingRoutes(settings: EmbeddingSettings, turns: Activity): readonly Route[] {
  if (!settings.upstream.pass) return [];
  const endpoint = endpointFor((request) => createEmbeddings(request, settings, turns), settings);
  return [{ method: 'POST', path: '/embeddings', endpoint }];
}

async function createEmbeddings(
  request: EndpointRequest,
  settings: EmbeddingSettings,
  turns: Activity,
): Promise<Reply> {
  const { limits } = settings;
  const life = beginTurn(request, limits.durationMs, turns);
  const { signal } = life;
  const call: UpstreamCall = { signal, headers: passedHeaders(request), limits, note: noteReporter(request, settings) };
  try {
    return await withinTurn(life, async () => {
      const { settings: charged, headers } = await withBudget(request, settings, life);
      if (!isRecord(request.body)) throw new ApiError('invalid_json', 'The request body must be a JSON object.');
      const guards = collectGuards({ ...request, signal }, settings);
      const body = guards ? await guardBody(request.body, guards) : request.body;
      const bytes = (fields: object) => Buffer.from(JSON.stringify({ ...body, ...fields }));
      const passed = {
        ...{ method: 'POST', path: '/embeddings', headers: { ...JSON_HEADERS, accept: 'application/json' } },
        ...{ body: bytes({}), readModel: () => (typeof body.model === 'string' ? body.model : '') },
        renamed: (model: string) => bytes({ model }),
      };
      // The cast: without it there is no such route.
      const answer = await (charged.upstream as Passing).pass(passed, call);
      return withHeaders(
        { status: answer.status, headers: JSON_HEADERS, body: '', bytes: untilRead(answer.body, () => life.leave()) },
        headers,
      );
    });
  } catch (error) {
    life.leave();
    throw settings.upstream.redact?.(error, call) ?? error;
  }
}

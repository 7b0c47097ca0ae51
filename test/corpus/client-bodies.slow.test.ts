/** Everything that real clients send is taken: what cannot be carried is left out with a note, and nothing is a 400. */

import { memoryStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type ClientRequest, clientRequests, continuedBy, postedBody } from '../support/client-bodies.ts';
import { expectValidResponse } from '../support/open-responses-schema.ts';
import { finalOf, type RequestApp, type Resource, requestAppPerTest } from '../support/request-app.ts';
import { describeShared } from '../support/shared.ts';

const recorded = clientRequests();
const isServed = ({ path }: ClientRequest) => path === '/responses';
const store = memoryStore();
let app: RequestApp;
requestAppPerTest(
  (started) => {
    app = started;
  },
  () => ({ store }),
);

/** The response to the body, which is asked for as the client asked. */
async function answered(body: JsonObject): Promise<Resource> {
  const previous = continuedBy(body);
  if (previous) store.put(previous);
  if (body.stream === true) return finalOf(await app.streamed(body));
  const { status, body: response } = await app.create(body);
  if (status !== 200) throw new Error(`refused with ${status}: ${JSON.stringify(response)}`);
  return response;
}

/** The tools that are neither offered to the model nor noted. */
function lost(tools: unknown): readonly JsonObject[] {
  const offered = JSON.stringify(app.requested().tools ?? []);
  return ((tools ?? []) as readonly JsonObject[]).flatMap(unpacked).filter(({ type, name = type }) => {
    const carried = offered.includes(`"name":"${name}"`);
    return !carried && !app.notes.some(({ message }) => message.includes(`'${type}'`));
  });
}

/** The tools of a namespace, each under the name that a model receives. */
function unpacked(tool: JsonObject): readonly JsonObject[] {
  if (tool.type !== 'namespace') return [tool];
  return (tool.tools as readonly JsonObject[]).map((inner) => ({ ...inner, name: `${tool.name}__${inner.name}` }));
}

describeShared('what real clients post to /responses', () => {
  it('[Q-02] is recorded here', () => {
    expect(recorded.filter(isServed).length).toBeGreaterThan(60);
  });

  for (const request of recorded.filter(isServed)) {
    it(`[S-03] [A-25] [Q-02] is taken, and no tool is lost without a note: ${request.name}`, async () => {
      const body = postedBody(request);
      const response = await answered(body);
      expectValidResponse(response);
      expect([response.status, app.requested().model, lost(body.tools)]).toEqual(['completed', body.model, []]);
    });
  }
});

describe('tools that come as an item of the input', () => {
  it('[S-03] [S-06] [A-25] are offered', async () => {
    const tools = [{ type: 'namespace', name: 'functions', tools: [{ type: 'function', name: 'exec' }] }];
    await answered({
      input: [
        { type: 'additional_tools', role: 'developer', tools },
        { role: 'user', content: 'Hi.' },
      ],
    });
    expect([lost(tools), app.notes]).toEqual([[], []]);
  });
});

describeShared('what real clients post to other paths', () => {
  /** A conversation and a response that are there, in place of those of the recording. */
  async function ours({ path, body }: ClientRequest): Promise<ClientRequest['body'] & { readonly path: string }> {
    const { id } = await posted('/conversations', {});
    const { id: previous } = (await app.create({ input: 'Hi.' })).body;
    const continued = body.previous_response_id === undefined ? {} : { previous_response_id: previous };
    return { ...body, ...continued, path: path.replace(/conv_\w+/, String(id)) };
  }

  async function posted(path: string, body: JsonObject): Promise<JsonObject & { readonly status: number }> {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { ...((await answer.json()) as JsonObject), status: answer.status };
  }

  it.each(recorded.filter((request) => !isServed(request)))('[S-14] [S-17] [Q-02] is taken: $name', async (request) => {
    const { path, ...body } = await ours(request);
    const { status, error } = await posted(path, body);
    expect([status, error]).toEqual([200, undefined]);
  });
});

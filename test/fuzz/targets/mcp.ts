/** What MCP servers answer that requests name: whatever it is, the turn goes on or is refused. */
import fc from 'fast-check';
import { toolCallStream } from '../../../src/testing/index.ts';
import { expectAnswer } from '../answers.ts';
import { type ByteText, editedBytes } from '../byte-edits.ts';
import { bytesOf } from '../client.ts';
import { editedJson, type Json } from '../json-edits.ts';
import { RESULTS } from '../mcp-server.ts';
import type { Target } from '../target.ts';
import { question } from './model-answers.ts';

interface Input {
  readonly method: keyof typeof RESULTS;
  readonly type: string;
  readonly body: ByteText;
}

const methods = ['initialize', 'tools/list', 'tools/list', 'tools/call', 'tools/call', 'tools/call'] as const;

const inputs: fc.Arbitrary<Input> = fc.constantFrom(...methods).chain((method) => {
  const whole = { jsonrpc: '2.0', id: 0, result: RESULTS[method] as unknown as Json };
  const failed = { jsonrpc: '2.0', id: 0, error: { code: -32_000, message: 'No.', data: {} } };
  const asText = (body: Json) => Buffer.from(JSON.stringify(body)).toString('latin1');
  const inEvent = (text: ByteText) => `event: message\ndata: ${text}\n\n`;
  const changed = editedJson([whole, whole, whole, failed]).map(asText);
  const bytes = editedBytes([asText(whole), inEvent(asText(whole))]);
  return fc.oneof(
    fc.record({ method: fc.constant(method), type: fc.constant('application/json'), body: changed }),
    fc.record({ method: fc.constant(method), type: fc.constant('text/event-stream'), body: changed.map(inEvent) }),
    fc.record({
      method: fc.constant(method),
      type: fc.constantFrom('application/json', 'text/event-stream', 'text/html'),
      body: bytes,
    }),
  );
});

const CALL = toolCallStream([{ id: 'call_1', name: 'look', arguments: '{"a":"b"}' }]);
/** A server that answers nothing to a request is waited for, which these cases are not about. */
const CONNECTIONS = 24;
let used = 0;

const answers: Target<Input> = {
  name: 'answers of MCP servers',
  weight: 1,
  inputs,
  async run({ method, type, body }, { model, mcp, send }) {
    used += 1;
    // A connection of its own, and not all of one tenant.
    const path = `/mcp/${used}`;
    mcp.answer(path, { method, type, body: bytesOf(body) });
    model.answers({ type: 'text/event-stream', body: CALL }, { type: 'text/event-stream', body: HELLO });
    const tool = { type: 'mcp', server_label: 's', server_url: mcp.url + path, require_approval: 'never' };
    const headers = { authorization: `Bearer tenant-${used % CONNECTIONS}` };
    const got = await send(question('/v1', 'responses', { stream: true, tools: [tool] }, headers));
    mcp.answer(path, undefined);
    expectAnswer('responses', got, { mayFail: true });
  },
};

const HELLO = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';

/** Remote MCP. */
export const remoteMcp = [answers] as const;

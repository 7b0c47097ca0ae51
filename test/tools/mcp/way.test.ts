/** How a server is reached: what its answers show of its transport and its era. */
import { jest } from '@jest/globals';
import { HttpStatusError, ProbeRefusedError, RpcError } from '../../../src/tools/mcp/shared/client/faults.ts';
import { serverSettings } from '../../../src/tools/mcp/shared/server-config.ts';
import {
  alternativeTransport,
  confirmedTransport,
  currentTransport,
  initialTransport,
} from '../../../src/tools/mcp/shared/transport-choice.ts';

afterEach(() => void jest.useRealTimers());

const process = serverSettings('a', { command: 'node' });
const http = serverSettings('a', { url: 'https://mcp.example/mcp' });
const sse = serverSettings('a', { url: 'https://mcp.example/sse', type: 'sse' });

describe('the way to a server', () => {
  it('[T-01] begins with the question for its era, but over SSE, which is older', () => {
    expect([process, http, sse].map((server) => initialTransport(server).beginning)).toEqual([
      'probe',
      'probe',
      'legacy',
    ]);
  });

  it('[T-01] is the older one for a process that ends at the question, and the newer one where the older is refused', () => {
    const refused = new RpcError(-32022, 'Unsupported protocol version');
    const choices = [new ProbeRefusedError(''), refused].map(
      (error) => alternativeTransport(initialTransport(process), error)?.beginning,
    );
    expect(choices).toEqual(['legacy', 'modern']);
  });

  it('[T-01] is not tried again and again', () => {
    const ended = alternativeTransport(initialTransport(process), new ProbeRefusedError(''));
    const refused = alternativeTransport(initialTransport(process), new RpcError(-32022, ''));
    expect(ended && alternativeTransport(ended, new ProbeRefusedError(''))).toBeUndefined();
    expect(refused && alternativeTransport(refused, new RpcError(-32022, ''))).toBeUndefined();
    expect(alternativeTransport(initialTransport(process), new Error('spawn ENOENT'))).toBeUndefined();
  });

  it('[F-29] is SSE once where streamable HTTP is answered with 400, 404 or 405', () => {
    const choices = [400, 404, 405, 401, 500].map((status) =>
      alternativeTransport(initialTransport(http), new HttpStatusError(status)),
    );
    expect(choices.map((choice) => choice && [choice.server.transport, choice.beginning])).toEqual([
      ['sse', 'legacy'],
      ['sse', 'legacy'],
      ['sse', 'legacy'],
      undefined,
      undefined,
    ]);
    expect(choices[0] && alternativeTransport(choices[0], new HttpStatusError(404))).toBeUndefined();
  });

  it('[T-01] is known for an hour', () => {
    jest.useFakeTimers();
    const proven = confirmedTransport(initialTransport(http), { era: 'modern', version: '2026-07-28' });
    jest.advanceTimersByTime(3_599_999);
    const late = currentTransport(confirmedTransport(proven, { era: 'modern', version: '2026-07-28' }));
    jest.advanceTimersByTime(1);
    expect([proven.beginning, late.beginning, currentTransport(proven).beginning]).toEqual([
      'modern',
      'modern',
      'probe',
    ]);
  });
});

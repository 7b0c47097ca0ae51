/** Misconfiguration is found when the WebSocket is attached. */
import { createServer } from 'node:http';
import express from 'express';
import { attachResponsesWebSocket } from 'express-open-responses/websocket';
import type { UpgradeServer } from '../../../src/hosts/websocket/index.ts';

const BASE = { upstream: { name: 'none', stream: () => ({}) as never } };

describe('attachResponsesWebSocket', () => {
  it.each([
    [{ unheardOf: 1 }, /^attachResponsesWebSocket: unknown option 'unheardOf'; known are .*path, authorize/],
    [{ path: 'v1' }, "attachResponsesWebSocket: path must be a path such as '/v1/responses', got 'v1'"],
    [{ path: '/v1?x' }, "attachResponsesWebSocket: path must be a path such as '/v1/responses', got '/v1?x'"],
    [{ authorize: 'key' }, "attachResponsesWebSocket: authorize must be a function, got 'key'"],
    [
      { connectionMs: 0 },
      'attachResponsesWebSocket: connectionMs must be a number of milliseconds, over 0 and under 2^31, got 0',
    ],
    [
      { pingMs: 2 ** 31 },
      'attachResponsesWebSocket: pingMs must be a number of milliseconds, over 0 and under 2^31, got 2147483648',
    ],
    [{ maxLanes: 0.5 }, 'attachResponsesWebSocket: maxLanes must be a positive whole number, got 0.5'],
    [{ maxQueued: 0 }, 'attachResponsesWebSocket: maxQueued must be a positive whole number, got 0'],
    [{ memoryBytes: 0.5 }, 'attachResponsesWebSocket: memoryBytes must be a positive whole number, got 0.5'],
  ])('[S-15] refuses %j', (options, message) => {
    const server = createServer();
    // The cast: that they are wrong is the point.
    const attach = () => attachResponsesWebSocket(server, BASE, options as object);
    expect(attach).toThrow(message);
    expect([server.listenerCount('upgrade'), errorOf(attach)]).toEqual([0, 'TypeError']);
  });

  it.each([
    [{ show: { reasoning: 'loud' } }, /^attachResponsesWebSocket: show: reasoning must be one of .*, got 'loud'$/],
    [
      { limits: { request: { bodyBytes: -1 } } },
      'attachResponsesWebSocket: limits.request: bodyBytes must be a positive number, got -1',
    ],
    [{ scope: () => 'me' }, 'attachResponsesWebSocket: scope must be left out: authorize returns the tenant'],
  ])('[S-15] refuses of a router %j', (core, message) => {
    // The cast: as above.
    expect(() => attachResponsesWebSocket(createServer(), { ...BASE, ...core } as object)).toThrow(message);
  });

  it.each([
    ['an Express app', express()],
    ['nothing', undefined],
    ['a port', 3000],
  ])('[S-15] refuses %s for a server', (_, server) => {
    // The cast: as above.
    const attach = () => attachResponsesWebSocket(server as unknown as UpgradeServer, BASE);
    expect(attach).toThrow(/^attachResponsesWebSocket: server must be an http\.Server, got /);
  });

  it('[S-15] takes undefined for every option as omitted', async () => {
    const names = ['path', 'authorize', 'connectionMs', 'pingMs', 'maxLanes', 'maxQueued', 'memoryBytes'];
    const server = createServer();
    const omitted = Object.fromEntries(names.map((name) => [name, undefined]));
    const { close } = attachResponsesWebSocket(
      server,
      { ...BASE, scope: undefined, limits: undefined, tools: undefined },
      omitted,
    );
    const listening = server.listenerCount('upgrade');
    await close();
    expect([listening, server.listenerCount('upgrade')]).toEqual([1, 0]);
  });
});

function errorOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return (error as Error).name;
  }
  return 'none';
}

/** The example apps, each of which passes the acceptance suite. */
import { start as startExpress } from '../../examples/express/start.ts';
import { start as startHono } from '../../examples/hono/start.ts';
import { start as startKoa } from '../../examples/koa-adapter/start.ts';

/** A running example. */
export interface RunningExample {
  /** Such as `http://localhost:3000`; the API is at `/v1`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Starts an example with these variables; each knows `PORT` and `UPSTREAM_BASE_URL`. */
export type StartExample = (variables: Readonly<Record<string, string>>) => Promise<RunningExample>;

const SILENT = { PORT: '0', LOG: 'off', MCP_CONFIG: 'off' };

/** The name of each, and how it is started, silent and on a free port. */
export const EXAMPLES: readonly (readonly [name: string, start: StartExample])[] = [
  ['Express', (variables) => startExpress({ ...SILENT, ...variables }, () => {})],
  ['Koa', (variables) => startKoa({ ...SILENT, ...variables }, () => {})],
  ['Hono', (variables) => startHono({ ...SILENT, ...variables }, () => {})],
];

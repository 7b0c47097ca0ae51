/** The host's options for each server behind a routing upstream: checked, and named. */

import { inspect } from 'node:util';
import { checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { isRecord } from '../../protocol/record.ts';

/** A server, and how it is used. `undefined` means omitted. */
export interface ModelServer {
  /** The upstream, which may choose among servers itself. */
  readonly upstream: Upstream;
  /** The server's name for the model, or a function that returns it for the client's. Default: the client's. */
  readonly model?: string | ((model: string) => string) | undefined;
  /** Its share of the calls, beside those of the others; over 0. Default: 1. */
  readonly weight?: number | undefined;
  /**
   * Names it in the status, in hooks and in spans, and never to clients. Default: the host and port of its address, or the
   * upstream's name, numbered where several have the same.
   */
  readonly name?: string | undefined;
}

/** An upstream as it is, or with its settings. */
export type Target = Upstream | ModelServer;

/** A server whose settings are complete. */
export interface NamedServer extends ModelServer {
  readonly weight: number;
  readonly name: string;
}

/** Maximum number of servers behind one upstream. */
export const MAX_SERVERS = 1000;
const MAX_NAME_LENGTH = 100;
const MAX_WEIGHT = 1_000_000;

/** The check of an upstream. */
export const isUpstream: OptionCheck = (value) =>
  (isRecord(value) && typeof value.stream === 'function') || 'an upstream';

/** The check of names that a host chooses. */
export const isName: OptionCheck = (value) =>
  (typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH) ||
  `a name of 1 to ${MAX_NAME_LENGTH} characters`;

const CHECKS: Readonly<Record<keyof ModelServer, OptionCheck>> = {
  upstream: isUpstream,
  model: (value) =>
    (typeof value === 'string' && value !== '') || typeof value === 'function' || 'a name or a function',
  weight: (value) =>
    (typeof value === 'number' && value > 0 && value <= MAX_WEIGHT) || `a number over 0, up to ${MAX_WEIGHT}`,
  name: isName,
};

/** The servers with their names; throws a `TypeError` for an empty or too long list and for a bad or second name. */
export function namedServers(owner: string, targets: unknown): readonly NamedServer[] {
  if (!Array.isArray(targets) || targets.length === 0)
    throw new TypeError(
      `${owner}: servers must be a list of at least one upstream, got ${inspect(targets, { depth: 0 })}`,
    );
  checkCount(owner, targets.length);
  const servers = targets.map((target, index) => checkedServer(`${owner}: server ${index + 1}`, target));
  const taken = new Set<string>();
  for (const { name } of servers) if (name !== undefined) takeName(owner, name, taken);
  return servers.map((server) => withServerName(server, taken));
}

/** Throws a `TypeError` for more servers than may stand behind one upstream. */
export function checkCount(owner: string, count: number): void {
  if (count > MAX_SERVERS) throw new TypeError(`${owner}: there may be at most ${MAX_SERVERS} servers, got ${count}`);
}

/** The settings of one server, its name perhaps missing. */
export function checkedServer(owner: string, target: unknown): ModelServer {
  if (isUpstream(target) === true) return { upstream: target as Upstream };
  // The casts, here and above: checked.
  checkOptions(owner, target as object, CHECKS);
  const server = target as ModelServer;
  if (!server.upstream) throw new TypeError(`${owner}: upstream must be an upstream, got undefined`);
  return server;
}

/** Throws a `TypeError` where another server has the name. */
export function takeName(owner: string, name: string, taken: Set<string>): void {
  if (taken.has(name)) throw new TypeError(`${owner}: two servers have the name '${name}'`);
  taken.add(name);
}

/** The server with its weight and a name that no other has. */
export function withServerName(server: ModelServer, taken: Set<string>): NamedServer {
  const { weight = 1, name = defaultName(server.upstream, taken) } = server;
  taken.add(name);
  return { ...server, weight, name };
}

function defaultName({ name, origin }: Upstream, taken: ReadonlySet<string>): string {
  const usual = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : name.slice(0, MAX_NAME_LENGTH);
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? usual : `${usual}-${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}

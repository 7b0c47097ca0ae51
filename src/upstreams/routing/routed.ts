/** Servers by the model that a request names. */

import { inspect } from 'node:util';
import { checkOptions, isObject } from '../../ports/host/options-check.ts';
import type { UpstreamCall } from '../../ports/upstream.ts';
import { ApiError } from '../../protocol/errors.ts';
import { factFields } from '../../protocol/model-facts.ts';
import { LONGEST_PATTERN, type NameTest, wildcardTest } from '../../protocol/name-patterns.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { firstServer } from './choose.ts';
import { mergeModelLists, modelLists } from './merged-models.ts';
import { poolUpstream, type RoutingUpstream } from './pool.ts';
import { Server } from './server.ts';
import { checkCount, checkedServer, type Target } from './targets.ts';

/** Which server has which models. */
export interface RoutedOptions {
  /**
   * The server of each model: by its name, or by a pattern with `*` for any characters. A name goes before a pattern, and a
   * pattern with more other characters before one with fewer; of two with as many, the one that stands first.
   */
  readonly routes: Readonly<Record<string, Target>>;
  /** Further names for models; each names a model that a route has. Default: none. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
}

/** Maximum number of patterns that are tried with each request. */
const MAX_PATTERNS = 256;
const MAX_ALIASES = 1000;
/** The names that a `model_not_found` lists. */
const MAX_SHOWN = 20;

/**
 * Passes each request on to the server of its model. A model that no route has is a 404 `model_not_found`. Throws a
 * `TypeError` for a bad route or alias.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { routedUpstream } from 'express-open-responses/routing';
 * import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
 *
 * const local = chatCompletionsUpstream({ baseURL: 'http://localhost:8000/v1' });
 * const routes = { 'claude-*': anthropicUpstream(), '*': local };
 * const router = responsesRouter({ upstream: routedUpstream({ routes, aliases: { fast: 'qwen3-8b' } }) });
 * ```
 */
export function routedUpstream(options: RoutedOptions): RoutingUpstream {
  checkOptions('routedUpstream', options, { routes: isObject, aliases: isObject });
  const table = new RouteTable(options);
  return poolUpstream({
    name: 'routed',
    servers: () => table.servers,
    select: (model) => table.select(model),
    choose: firstServer,
    failsOver: () => false,
    attempts: 1,
    firstByteTimeoutMs: undefined,
    sharesState: false,
    models: (call) => table.models(call),
  });
}

interface Pattern {
  readonly test: NameTest;
  readonly server: Server;
}

class RouteTable {
  readonly servers: readonly Server[];
  private readonly exact: ReadonlyMap<string, Server>;
  private readonly patterns: readonly Pattern[];
  private readonly aliases: ReadonlyMap<string, string>;
  private readonly shown: readonly string[];

  constructor({ routes, aliases = {} }: RoutedOptions) {
    const entries = isRecord(routes) ? Object.entries(routes) : [];
    if (entries.length === 0) throw new TypeError('routedUpstream: routes must hold at least one route');
    checkCount('routedUpstream', entries.length);
    const policies = { owner: 'routedUpstream', breaker: undefined, calls: undefined };
    this.servers = entries.map(([pattern, target]) => {
      if (!isPatternName(pattern))
        throw new TypeError(
          `routedUpstream: routes: a name must have 1 to ${LONGEST_PATTERN} characters, got '${pattern}'`,
        );
      const owner = `routedUpstream: routes: '${pattern}'`;
      const server = checkedServer(owner, target);
      if (server.name !== undefined || server.weight !== undefined)
        throw new TypeError(`${owner}: a route is named by its pattern and has no weight; leave name and weight out`);
      return new Server({ ...server, weight: 1, name: pattern }, policies);
    });
    const wild = this.servers.filter(({ name }) => name.includes('*'));
    if (wild.length > MAX_PATTERNS)
      throw new TypeError(`routedUpstream: routes may hold at most ${MAX_PATTERNS} patterns, got ${wild.length}`);
    this.exact = new Map(
      this.servers.filter((server) => !wild.includes(server)).map((server) => [server.name, server]),
    );
    this.patterns = wild
      .toSorted((one, other) => other.name.replaceAll('*', '').length - one.name.replaceAll('*', '').length)
      .map((server) => ({ server, test: wildcardTest(server.name) }));
    this.aliases = this.resolved(aliases);
    this.shown = [...this.servers.map(({ name }) => name), ...this.aliases.keys()];
  }

  select(asked: string) {
    const model = this.aliases.get(asked) ?? asked;
    const server = this.serverOf(model);
    if (!server) throw this.notFound(asked);
    return { model, servers: [server] };
  }

  /** The models that requests reach by these names; those of a server that is down are left out. */
  async models(call: UpstreamCall): Promise<readonly JsonObject[]> {
    const lists = await modelLists(this.servers, call);
    const reachable = lists.map(({ server, models }) => ({
      server,
      models: models?.filter(
        ({ id }) => typeof id === 'string' && this.serverOf(id) === server && !this.aliases.has(id),
      ),
    }));
    const down = new Set(lists.filter(({ models }) => !models).map(({ server }) => server));
    const named = [...this.exact.keys(), ...this.aliases.keys()].map((id) => {
      const { servers, model } = this.select(id);
      const [server] = servers;
      if (!server || down.has(server)) return { server, models: [] };
      const facts = server.upstream.facts?.(server.modelFor(model), call) ?? {};
      return { server, models: [{ id, object: 'model', ...factFields(facts) }] };
    });
    // The cast: every name has a server.
    return mergeModelLists([...reachable, ...(named as typeof reachable)]);
  }

  private serverOf(model: string): Server | undefined {
    if (model.length > LONGEST_PATTERN) return undefined;
    return this.exact.get(model) ?? this.patterns.find(({ test }) => test(model))?.server;
  }

  /** Each alias with the model that it leads to, over other aliases too. */
  private resolved(aliases: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
    const given = new Map(Object.entries(aliases));
    if (given.size > MAX_ALIASES)
      throw new TypeError(`routedUpstream: there may be at most ${MAX_ALIASES} aliases, got ${given.size}`);
    for (const [alias, model] of given) this.checkAlias(alias, model);
    return new Map([...given.keys()].map((alias) => [alias, this.modelOf(alias, given)]));
  }

  private checkAlias(alias: string, model: unknown): void {
    const owner = `routedUpstream: aliases: '${alias}'`;
    if (!isPatternName(alias) || alias.includes('*')) throw new TypeError(`${owner} must be a name without '*'`);
    if (!isPatternName(model)) throw new TypeError(`${owner} must name a model, got ${inspect(model, { depth: 0 })}`);
    if (this.exact.has(alias)) throw new TypeError(`${owner} is the name of a route, too`);
  }

  private modelOf(alias: string, aliases: ReadonlyMap<string, string>): string {
    let model = alias;
    for (let steps = 0; aliases.has(model); steps += 1) {
      if (steps > aliases.size) throw new TypeError(`routedUpstream: aliases: '${alias}' leads in a circle`);
      model = aliases.get(model) ?? model;
    }
    if (!this.serverOf(model))
      throw new TypeError(`routedUpstream: aliases: '${alias}' names '${model}', which no route has`);
    return model;
  }

  private notFound(model: string): ApiError {
    const shown = this.shown.slice(0, MAX_SHOWN).map((name) => `'${name}'`);
    const more = this.shown.length > MAX_SHOWN ? ', …' : '';
    const message = `The model '${model.slice(0, MAX_SHOWN_LENGTH)}' does not exist. There are: ${shown.join(', ')}${more}.`;
    return new ApiError('model_not_found', message, { param: 'model' });
  }
}

/** Characters of a name from a request that are shown. */
const MAX_SHOWN_LENGTH = 100;

function isPatternName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= LONGEST_PATTERN;
}

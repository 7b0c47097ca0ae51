/** The port to a search engine: the queries of the tool `web_search`, and their results. */
import type { WebResult } from '../../protocol/items.ts';
import type { ToolsRequest } from '../tool-provider.ts';

/** Roughly where the user is, as far as the request holds it. */
export interface UserLocation {
  /** Such as `Berlin`. */
  readonly city?: string | undefined;
  /** Two letters, such as `DE`. */
  readonly country?: string | undefined;
  /** Such as `Bavaria`. */
  readonly region?: string | undefined;
  /** An IANA time zone, such as `Europe/Berlin`. */
  readonly timezone?: string | undefined;
}

/** One search. */
export interface SearchQuery {
  /** The model's words; not empty. */
  readonly query: string;
  /** How many results are used; further ones are left out. */
  readonly maxResults: number;
  /** The only domains, their subdomains included; empty for all. Results of others are left out anyway. */
  readonly allowedDomains: readonly string[];
  /** Domains whose results are left out, their subdomains included. */
  readonly blockedDomains: readonly string[];
  /** Undefined if the request does not set it. */
  readonly userLocation: UserLocation | undefined;
  /** Aborted when the call must end. */
  readonly signal: AbortSignal;
  /** The request that the search belongs to. */
  readonly about: ToolsRequest;
}

/** Searches the web. A `search` that throws is a failed call, whose message is passed to the model. */
export interface SearchEngine {
  /** A short name for messages. */
  readonly name: string;
  /**
   * Whether it answers from an index of its own and never asks the live web, as requests with `external_web_access: false`
   * demand: they are offered no other search. Default: false.
   */
  readonly cachedOnly?: boolean | undefined;
  /** The results, best first. */
  search(query: SearchQuery): Promise<readonly WebResult[]>;
  /** Releases what the engine holds. May be called twice. */
  readonly close?: (() => Promise<void>) | undefined;
}

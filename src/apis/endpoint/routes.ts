/** Routes as data, so that every framework serves the same paths. */
import type { Endpoint } from './endpoint.ts';

/** One route; `path` is below the mount point, with `:name` for a parameter. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly endpoint: Endpoint;
  /** Whether the endpoint reads the body itself, as bytes. Default: it receives the JSON of a POST. */
  readonly readsBytes?: true;
}

/** The path's parameters if it matches the route, still encoded; a trailing slash is ignored. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/');
  const given = path.replace(/\/$/, '').split('/');
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

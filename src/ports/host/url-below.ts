/** Addresses below the one that a host gives. */

/** The URL of a path below a base, whose query is kept. */
export function urlBelow(base: string | URL, path: string): URL {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  return url;
}

/** Reads the path that prefixes all paths of a model server. */

/** The server and its path, without credentials and query: identifies the owner of an answer's provider state. */
export function stateOwnerFor(name: string, url: URL): string {
  return `${name} ${url.origin}${basePath(url)}`;
}

/** The path without trailing slashes: that of `http://h/v1//` is `/v1`. */
export function basePath({ pathname }: URL): string {
  let end = pathname.length;
  while (pathname[end - 1] === '/') end -= 1;
  return pathname.slice(0, end);
}

/** The path that a model server's address begins its own paths with. */

/** The server and its path, without credentials and query: who the state of its answers belongs to. */
export function ownerOf(name: string, url: URL): string {
  return `${name} ${url.origin}${basePath(url)}`;
}

/** The path without slashes at its end: that of `http://h/v1//` is `/v1`. */
export function basePath({ pathname }: URL): string {
  let end = pathname.length;
  while (pathname[end - 1] === '/') end -= 1;
  return pathname.slice(0, end);
}

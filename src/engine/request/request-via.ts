/** How a request came to the functions of the host, which its type tells them by. */

/** `http` for the framework's own request, `websocket` for an upgrade request, `restored` for one that another process began. */
type RequestVia = 'http' | 'websocket' | 'restored';

/** Says on the host's own object how it came; one that cannot be written to is left as it is. */
export function markRequest(request: unknown, via: RequestVia): void {
  if (typeof request === 'object' && request !== null) Reflect.set(request, 'via', via);
}

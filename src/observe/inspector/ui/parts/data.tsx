/** Loads the server's data when a page opens, and again when the server reports a change. */
import { useEffect, useRef, useState } from 'preact/hooks';

/** The version of the server's data, and whether the page is connected. */
export interface Live {
  readonly version: number;
  readonly isConnected: boolean;
}

/** Follows the server's events; reconnects by itself. */
export function useLive(): Live {
  const [live, setLive] = useState<Live>({ version: 0, isConnected: false });
  useEffect(() => {
    const source = new EventSource('api/live');
    source.onmessage = ({ data }) => setLive({ version: JSON.parse(data).version, isConnected: true });
    source.onerror = () => setLive(({ version }) => ({ version, isConnected: false }));
    return () => source.close();
  }, []);
  return live;
}

/** The data, or why there is none. */
interface Loaded<Data> {
  readonly data: Data | undefined;
  readonly error: string | undefined;
}

/** Requests the path now and at each new version, one request at a time. */
export function useData<Data>(path: string, version: number): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data> & { readonly path: string }>();
  const wanted = useRef({ path, version, isBusy: false });
  useEffect(() => {
    const now = wanted.current;
    Object.assign(now, { path, version });
    if (!now.isBusy) void load();
    async function load(): Promise<void> {
      now.isBusy = true;
      const { path: requestedPath, version: requestedVersion } = now;
      const answer = await fetchData<Data>(requestedPath);
      now.isBusy = false;
      if (requestedPath === now.path) setLoaded({ ...answer, path: requestedPath });
      if (requestedPath !== now.path || requestedVersion !== now.version) await load();
    }
  }, [path, version]);
  // The old data stays while another path is loading: a page that flickers cannot be read.
  return loaded ?? NOTHING;
}

const NOTHING = { data: undefined, error: undefined };

async function fetchData<Data>(path: string): Promise<Loaded<Data>> {
  try {
    const response = await fetch(path, { headers: { accept: 'application/json' } });
    const text = await response.text();
    if (response.ok) return { data: JSON.parse(text), error: undefined };
    try {
      return { data: undefined, error: JSON.parse(text).error ?? text };
    } catch {
      return { data: undefined, error: text };
    }
  } catch {
    return { data: undefined, error: 'The server cannot be reached.' };
  }
}

/** The page in the address, such as `responses/17`, and its query. */
export function usePlace(): { readonly page: string; readonly query: URLSearchParams } {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  const [page = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  return { page, query: new URLSearchParams(query) };
}

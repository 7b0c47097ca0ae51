/** Chooses one of the servers that take calls, and the key that keeps the calls of a conversation on one of them. */
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { Server } from './server.ts';

/** Chooses one of at least one server; the key is computed only if it matters. */
export type Choose = (ready: readonly Server[], stickyKey: () => string) => Server;

/** The first in the host's order. */
export const firstServer: Choose = (ready) => serverAt(ready, 0);

/** Stays with one as long as it takes calls, then goes on to the one that follows in the host's order. */
export function stayWithServer(servers: readonly Server[]): Choose {
  let current = 0;
  return (ready) => {
    const inOrder = [...servers.slice(current), ...servers.slice(0, current)];
    // The cast: those that take calls are some of them.
    const next = inOrder.find((server) => ready.includes(server)) as Server;
    current = servers.indexOf(next);
    return next;
  };
}

/** The strategies of `balanced`, by name. */
export const STRATEGIES = {
  'round-robin': (): Choose => {
    let turn = -1;
    return (ready) => {
      turn += 1;
      return serverAt(ready, turn);
    };
  },
  weighted,
  // The fewest calls for its weight; servers that are equally busy take turns.
  'least-busy': (): Choose => {
    let turn = -1;
    return (ready) => {
      turn += 1;
      const start = turn % ready.length;
      return highestScoring(
        [...ready.slice(start), ...ready.slice(0, start)],
        ({ inFlight, weight }) => -inFlight / weight,
      );
    };
  },
  sticky: () => sticky,
} as const satisfies Readonly<Record<string, () => Choose>>;

/** Smooth weighted round robin, as nginx has it: weights 5, 1, 1 give `aabacaa` and not `aaaaabc`. */
function weighted(): Choose {
  const credits = new WeakMap<Server, number>();
  return (ready) => {
    let total = 0;
    for (const server of ready) {
      total += server.weight;
      credits.set(server, creditOf(server) + server.weight);
    }
    const chosen = highestScoring(ready, creditOf);
    credits.set(chosen, creditOf(chosen) - total);
    return chosen;
  };

  function creditOf(server: Server): number {
    return credits.get(server) ?? 0;
  }
}

/** Rendezvous hashing: a server that comes or goes moves only the keys that are its own. */
const sticky: Choose = (ready, stickyKey) => {
  const key = hashText(stickyKey());
  // Between 0 and 1, neither of which it is.
  return highestScoring(
    ready,
    ({ name, weight }) => weight / -Math.log((scrambleBits(key ^ hashText(name)) + 0.5) / 2 ** 32),
  );
};

function highestScoring(ready: readonly Server[], scoreOf: (server: Server) => number): Server {
  let chosen = serverAt(ready, 0);
  let highest = scoreOf(chosen);
  for (const server of ready) {
    const score = scoreOf(server);
    if (score > highest) [chosen, highest] = [server, score];
  }
  return chosen;
}

function serverAt(ready: readonly Server[], index: number): Server {
  // The cast: there is at least one.
  return ready[index % ready.length] as Server;
}

/** FNV-1a, 32 bits. */
function hashText(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  return value;
}

/** The finalizer of MurmurHash3: similar numbers get scores that have nothing in common. */
function scrambleBits(value: number): number {
  let bits = value;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Characters of the beginning that count, and messages that are looked at for them. */
const MAX_TEXT_LENGTH = 2048;
const MAX_MESSAGES = 8;
const MAX_PARTS = 8;

/** The key of a Chat Completions body. */
export function stickyKeyForBody({ model, prompt_cache_key: key, messages }: JsonObject): string {
  if (typeof key === 'string') return key;
  return stickyKey([String(model)], Array.isArray(messages) ? messages : []);
}

/** The key of a conversation: everything up to the first words of the user, since what follows differs from one turn to the next. */
export function stickyKey(texts: readonly string[], messages: readonly unknown[]): string {
  const beginning = [...texts];
  for (const message of messages.slice(0, MAX_MESSAGES)) {
    if (!isRecord(message)) continue;
    beginning.push(messageText(message.content));
    if (message.role === 'user') break;
  }
  return beginning.map((text) => text.slice(0, MAX_TEXT_LENGTH)).join('\0');
}

function messageText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.slice(0, MAX_PARTS) : [];
  return parts.map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : '')).join('\0');
}

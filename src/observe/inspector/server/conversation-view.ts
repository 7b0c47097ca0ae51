/** Conversations: responses that continue one another, as trees. */
import { wholeText } from '../../../protocol/grown-text.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { Recording } from '../recording/recording.ts';
import { preview, textOf } from '../recording/request-text.ts';
import type { Ring } from '../recording/ring.ts';
import { rowOf } from './list-view.ts';

/** A response in its tree. */
interface Turn {
  readonly recording: Recording;
  readonly replies: Turn[];
}

const MOST_TREES = 100;
const MOST_TURNS = 500;
/** Of all trees together: the page asks again while responses run. */
const MOST_SHOWN = 1000;

/** The newest conversations; `of` is the number of a response, for the conversation that it is in. */
export function conversationView(ring: Ring, query: URLSearchParams) {
  const roots = treesOf(ring.newestFirst().filter(({ api, status }) => api === 'responses' && status !== 'refused'));
  const wanted = Number(query.get('of') ?? 0);
  const shown = wanted > 0 ? roots.filter((root) => holds(root, wanted)) : roots;
  return { version: ring.version, found: shown.length, trees: treeViews(shown) };
}

function treeViews(roots: readonly Turn[]) {
  const views: ReturnType<typeof treeView>[] = [];
  let turns = 0;
  for (const root of roots.slice(0, MOST_TREES)) {
    if (turns >= MOST_SHOWN) break;
    const view = treeView(root);
    turns += view.turns.length;
    views.push(view);
  }
  return views;
}

/** Links responses within one tenant: another tenant's response with the same id is a different one. */
function treesOf(newestFirst: readonly Recording[]): readonly Turn[] {
  const byId = new Map<string, Turn>();
  const last = new Map<string, Turn>();
  const roots: Turn[] = [];
  for (const recording of newestFirst.toReversed()) {
    const { scope, responseId } = recording.info;
    const turn = { recording, replies: [] };
    const { previousId, conversation } = recording;
    const before =
      conversation === undefined ? byId.get(keyOf(scope, previousId)) : last.get(keyOf(scope, conversation));
    if (before) before.replies.push(turn);
    else roots.push(turn);
    byId.set(keyOf(scope, responseId), turn);
    if (conversation !== undefined) last.set(keyOf(scope, conversation), turn);
  }
  return roots.reverse();
}

function keyOf(scope: string, id = ''): string {
  return JSON.stringify([scope, id]);
}

function holds(root: Turn, number: number): boolean {
  return turnsOf(root).some(({ turn }) => turn.recording.number === number);
}

/** Depth first, without recursion: a chain may be as long as the ring. `branch` is the number of branches on the way from the root. */
function turnsOf(root: Turn): readonly { readonly turn: Turn; readonly branch: number; readonly parent: number }[] {
  const found: { turn: Turn; branch: number; parent: number }[] = [];
  const open = [{ turn: root, branch: 0, parent: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    found.push(next);
    const { turn, branch } = next;
    const replies = turn.replies.map((reply, at) => ({
      turn: reply,
      branch: branch + (at === 0 ? 0 : 1),
      parent: turn.recording.number,
    }));
    // Reversed, so that the first reply leaves the stack first and continues the line.
    open.push(...replies.slice(0, MOST_TURNS).reverse());
  }
  return found;
}

function treeView(root: Turn) {
  const turns = turnsOf(root);
  const { recording } = root;
  return {
    number: recording.number,
    conversation: recording.conversation ?? null,
    /** The id that the first turn continues, if that response is not in the ring. */
    continues: recording.previousId ?? null,
    tenant: recording.info.scope,
    count: turns.length,
    turns: turns.slice(0, MOST_TURNS).map(({ turn, branch, parent }) => ({
      ...rowOf(turn.recording),
      branch,
      parent,
      answered: answeredIn(turn.recording),
    })),
  };
}

/** The beginning of the last message of the answer. */
function answeredIn({ items }: Recording): string {
  const last = items.findLast((item) => item?.type === 'message');
  if (!last) return '';
  if (last.json.text === '') return preview(wholeText(last.growing));
  try {
    const item: unknown = JSON.parse(last.json.text);
    return isRecord(item) ? preview(textOf(item)) : '';
  } catch {
    return '';
  }
}

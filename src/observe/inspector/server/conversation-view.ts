/** Conversations: responses that continue one another, as trees. */
import { wholeText } from '../../../protocol/grown-text.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { Recording } from '../recording/recording.ts';
import { itemText, preview } from '../recording/request-text.ts';
import type { Ring } from '../recording/ring.ts';
import { listRow } from './list-view.ts';

/** A response in its tree. */
interface Turn {
  readonly recording: Recording;
  readonly replies: Turn[];
}

const MAX_TREES = 100;
const MAX_TURNS = 500;
/** Of all trees together: the page asks again while responses run. */
const MAX_TURNS_IN_ALL = 1000;

/** The newest conversations; `of` is the number of a response, for the conversation that it is in. */
export function conversationView(ring: Ring, query: URLSearchParams) {
  const roots = buildTrees(ring.newestFirst().filter(({ api, status }) => api === 'responses' && status !== 'refused'));
  const wanted = Number(query.get('of') ?? 0);
  const found =
    wanted > 0 ? roots.filter((root) => listTurns(root).some(({ turn }) => turn.recording.number === wanted)) : roots;
  const trees: ReturnType<typeof treeView>[] = [];
  let turns = 0;
  for (const root of found.slice(0, MAX_TREES)) {
    if (turns >= MAX_TURNS_IN_ALL) break;
    const view = treeView(root);
    turns += view.turns.length;
    trees.push(view);
  }
  return { version: ring.version, found: found.length, trees };
}

/** Links responses within one tenant: another tenant's response with the same id is a different one. */
function buildTrees(newestFirst: readonly Recording[]): readonly Turn[] {
  const byId = new Map<string, Turn>();
  const last = new Map<string, Turn>();
  const roots: Turn[] = [];
  for (const recording of newestFirst.toReversed()) {
    const { scope, responseId } = recording.info;
    const turn = { recording, replies: [] };
    const { previousId, conversation } = recording;
    const before =
      conversation === undefined ? byId.get(tenantKey(scope, previousId)) : last.get(tenantKey(scope, conversation));
    if (before) before.replies.push(turn);
    else roots.push(turn);
    byId.set(tenantKey(scope, responseId), turn);
    if (conversation !== undefined) last.set(tenantKey(scope, conversation), turn);
  }
  return roots.reverse();
}

function tenantKey(scope: string, id = ''): string {
  return JSON.stringify([scope, id]);
}

/** Depth first, without recursion: a chain may be as long as the ring. `branch` is the number of branches on the way from the root. */
function listTurns(root: Turn): readonly { readonly turn: Turn; readonly branch: number; readonly parent: number }[] {
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
    open.push(...replies.slice(0, MAX_TURNS).reverse());
  }
  return found;
}

function treeView(root: Turn) {
  const turns = listTurns(root);
  const { recording } = root;
  return {
    number: recording.number,
    conversation: recording.conversation ?? null,
    /** The id that the first turn continues, if that response is not in the ring. */
    continues: recording.previousId ?? null,
    tenant: recording.info.scope,
    count: turns.length,
    turns: turns.slice(0, MAX_TURNS).map(({ turn, branch, parent }) => ({
      ...listRow(turn.recording),
      branch,
      parent,
      answered: answerPreview(turn.recording),
    })),
  };
}

/** The beginning of the last message of the answer. */
function answerPreview({ items }: Recording): string {
  const last = items.findLast((item) => item?.type === 'message');
  if (!last) return '';
  if (last.json.text === '') return preview(wholeText(last.growing));
  try {
    const item: unknown = JSON.parse(last.json.text);
    return isRecord(item) ? preview(itemText(item)) : '';
  } catch {
    return '';
  }
}

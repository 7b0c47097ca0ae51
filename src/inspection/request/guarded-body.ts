/** The body of a request with its new texts guarded. */
import { ApiError } from '../../protocol/errors.ts';
import type { Item } from '../../protocol/items.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from './request-guards.ts';
import { type MapText, mapTexts, type TextMapping } from './texts.ts';

/** The fields of each API's body that hold texts for the model. */
export const TEXT_FIELDS = {
  responses: ['instructions', 'input', 'prompt'],
  'chat-completions': ['messages', 'prediction'],
  messages: ['system', 'messages'],
  conversations: ['items'],
} as const;

/** The body with its texts mapped; the same one if no text changes. */
async function mapBody<Body extends JsonObject>(
  body: Body,
  fields: readonly string[],
  mapping: TextMapping,
): Promise<Body> {
  let mapped = body;
  for (const field of fields) {
    const value = body[field];
    if (value === undefined || value === null) continue;
    const next = await mapTexts(value, field, mapping);
    if (next !== value) mapped = { ...mapped, [field]: next };
  }
  return mapped;
}

/**
 * The body after the guards of `input`. The loaded part of earlier turns, `known`, was guarded when it arrived. Throws
 * `content_filter` naming the place.
 */
export function guardedBody<Body extends JsonObject>(
  body: Body,
  fields: readonly string[],
  guards: RequestGuards,
  known?: ReadonlySet<unknown>,
): Promise<Body> {
  return mapBody(body, fields, { map: refusing((text, path) => guards.input(text, path)), known });
}

/** The replacements of items, such as the text of files that they name, after the guards of `input`. */
export async function guardedItems(
  placed: ReadonlyMap<Item, Item>,
  guards: RequestGuards,
): Promise<ReadonlyMap<Item, Item>> {
  const map = refusing((text, path) => guards.input(text, path));
  const guarded = new Map<Item, Item>();
  // The cast: texts are replaced by texts.
  for (const [item, whole] of placed) guarded.set(item, (await mapTexts(whole, 'input', { map })) as Item);
  return guarded;
}

/** The body without the placeholders of a middleware in front. */
export function restoredBody<Body extends JsonObject>(
  body: Body,
  fields: readonly string[],
  guards: RequestGuards,
): Promise<Body> {
  if (!guards.hasPlaceholders) return Promise.resolve(body);
  return mapBody(body, fields, { map: async (text) => guards.restored(text) });
}

/** The body as the model may receive it: with placeholders. Throws `content_filter`. */
export function bodyForModel<Body extends JsonObject>(
  body: Body,
  fields: readonly string[],
  guards: RequestGuards,
): Promise<Body> {
  return mapBody(body, fields, { map: forModel(guards), inTurn: true });
}

/** The requests of one turn as the model may receive them: with placeholders. */
export class ModelRequests {
  private readonly guards: RequestGuards;
  /** The items of an earlier request are in the next one too. */
  private readonly items = new WeakMap<Item, Item>();

  constructor(guards: RequestGuards) {
    this.guards = guards;
  }

  /** Throws `content_filter`. */
  async guarded(request: ModelRequest): Promise<ModelRequest> {
    const items: Item[] = [];
    for (const [at, item] of request.items.entries()) items.push(await this.item(item, `input[${at}]`));
    const { instructions } = request;
    if (instructions === undefined) return { ...request, items };
    return { ...request, items, instructions: await forModel(this.guards)(instructions, 'instructions') };
  }

  private async item(item: Item, path: string): Promise<Item> {
    const known = this.items.get(item);
    if (known) return known;
    // The cast: texts are replaced by texts.
    const guarded = (await mapTexts(item, path, { map: forModel(this.guards), inTurn: true })) as Item;
    this.items.set(item, guarded);
    return guarded;
  }
}

function forModel(guards: RequestGuards): MapText {
  return refusing((text, path) => guards.forModel(text, path));
}

/** Adds the place of the blocked text to the error. */
function refusing(map: MapText): MapText {
  return async (text, path) => {
    try {
      return await map(text, path);
    } catch (error) {
      if (error instanceof GuardBlocked) throw contentFilter(error, path);
      throw error;
    }
  };
}

/** The refusal of a request with such a text. */
function contentFilter({ reason }: GuardBlocked, param: string): ApiError {
  const why = reason === '' ? '' : ` ${reason}`;
  return new ApiError('content_filter', `This server's policy does not let the text in '${param}' pass.${why}`, {
    param,
  });
}

/** Items that the model's own server made, as a client sees them: any type, with any fields, under an id of this server's. */
import type { JsonObject } from '../../src/protocol/record.ts';

const NATIVE_ID = /^[a-z]{1,16}_[0-9a-f]{36,45}(r[0-9a-f]{1,13})?\.[\w.-]*$/;

/** Whether it is the id of such an item. */
export function isNativeId(id: unknown): boolean {
  return typeof id === 'string' && NATIVE_ID.test(id);
}

/** Whether the event belongs to such an item: those of a shell's commands name none. */
export function isNativeEvent(event: JsonObject): boolean {
  const {
    type,
    item,
    item_id: id,
  } = event as { readonly type: string; readonly item?: JsonObject; readonly item_id?: unknown };
  return isNativeId(item?.id ?? id) || /^response\.shell_call_command\.[\w:-]+$/.test(type);
}

/** The list without such items. */
export function withoutNatives<Item>(items: readonly Item[]): readonly Item[] {
  return items.filter((item) => !isNativeId((item as JsonObject | null)?.id));
}

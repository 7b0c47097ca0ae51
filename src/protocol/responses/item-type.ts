/** The type of an item in a request. */

/** SDKs send messages without a type. */
export function itemType(item: Readonly<Record<string, unknown>>): string {
  if (typeof item.type === 'string' && item.type !== '') return item.type;
  return 'role' in item ? 'message' : '';
}

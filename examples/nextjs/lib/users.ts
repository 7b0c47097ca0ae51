/** The app's users; a real app asks its session or its database. */
const users = new Map([
  ['Bearer key-of-ada', 'ada'],
  ['Bearer key-of-bob', 'bob'],
]);

/** The user who sends the request. */
export function userOf({ headers }: Request): string | undefined {
  return users.get(headers.get('authorization') ?? '');
}

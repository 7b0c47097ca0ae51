/** What the jobs of the soak ask, and check in the answers. */

export const COMPLETED = 'event: response.completed';

/** Throws unless the status is this one. */
export function expect({ status, text }, wanted = 200) {
  if (status !== wanted) throw new Error(`status ${status}: ${text.slice(0, 200)}`);
  return text;
}

/** Throws unless the stream has its regular end. */
export function expectEnd(answer, end) {
  const text = expect(answer);
  if (!text.slice(-20_000).includes(end)) throw new Error(`The stream does not end with ${end}: ${text.slice(-300)}`);
  return text;
}

export const stream = (plan, more = {}) => ({ model: plan, stream: true, input: 'Mail a@example.com', ...more });

/** Uploads a file as a form, and returns its id. */
export async function upload(ask, base, { path = 'files', purpose, field = 'file', name = 'a.txt', text }) {
  const part = (title, value, more = '') =>
    `--b\r\ncontent-disposition: form-data; name="${title}"${more}\r\n\r\n${value}\r\n`;
  const form = `${purpose ? part('purpose', purpose) : ''}${part(field, text, `; filename="${name}"`)}--b--\r\n`;
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  return JSON.parse(expect(await ask(`${base}/${path}`, form, { headers }))).id;
}

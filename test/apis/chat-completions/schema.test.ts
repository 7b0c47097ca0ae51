/** What of a request's body is checked; how each fault is reported is tested over HTTP. */
import { validateChat } from '../../../src/apis/chat-completions/request/schema.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';

const BODY = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] };

it('[S-19] lets everything through that it does not know, as it is', () => {
  const body = {
    ...BODY,
    stream: null,
    n: null,
    tools: null,
    functions: null,
    stream_options: null,
    top_k: [{ a: 1 }],
  };
  expect(validateChat(body, DEFAULT_LIMITS)).toBe(body);
});

it('[A-26] leaves out a reasoning whose every field is null, and only that', () => {
  const given = [{ effort: null, summary: null }, {}, null, { effort: 'low', summary: null }, 'low', undefined];
  expect(given.map((reasoning) => validateChat({ ...BODY, reasoning }, DEFAULT_LIMITS))).toEqual([
    BODY,
    { ...BODY, reasoning: {} },
    BODY,
    { ...BODY, reasoning: { effort: 'low', summary: null } },
    { ...BODY, reasoning: 'low' },
    { ...BODY, reasoning: undefined },
  ]);
});

it.each([[undefined], [null], [[]], ['x'], [1]])('[P-11] refuses %j as no body at all', (body) => {
  expect(() => validateChat(body, DEFAULT_LIMITS)).toThrow('The request body must be a JSON object.');
});

it('[P-11] names the field at fault', () => {
  expect(() => validateChat({ ...BODY, messages: [BODY.messages[0], {}] }, DEFAULT_LIMITS)).toThrow(
    expect.objectContaining({ code: 'missing_required_parameter', param: 'messages[1].role', status: 400 }),
  );
});

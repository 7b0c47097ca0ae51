/** What the programs in JavaScript share: the address, the questions, the tool, and how they print what came of each question. */
export const baseURL = process.env.OPENAI_BASE_URL;
export const apiKey = process.env.OPENAI_API_KEY;
export const HELLO = 'Say hello.';
export const WEATHER = 'How is the weather in Paris?';

/** The tool: the model asks for Paris. */
export function weather({ city }) {
  return `Sunny in ${city}.`;
}

/** Prints what came of one feature: the value, or the error. */
export async function shows(api, feature, run) {
  let result;
  try {
    result = { value: await run() };
  } catch (error) {
    result = { error: `${error?.message ?? error}` };
  }
  console.log(JSON.stringify({ api, feature, ...result }));
}

/** The pieces of a stream that have text. */
export async function pieces(stream, textOf = (piece) => piece) {
  const texts = [];
  for await (const piece of stream) texts.push(textOf(piece));
  return texts.filter(Boolean);
}

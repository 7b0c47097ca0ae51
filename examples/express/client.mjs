/** Asks two questions; the second continues the first and is answered as a stream. */
import OpenAI from 'openai';

const client = new OpenAI({ baseURL: 'http://localhost:3000/v1', apiKey: 'anything' });

const first = await client.responses.create({ model: 'demo', input: 'Say hello.' });
console.log(first.output_text);

const stream = await client.responses.create({
  model: 'demo',
  input: 'What did I say before?',
  previous_response_id: first.id,
  stream: true,
});
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);
}

/** The recorded answers of servers of the Responses API, each with its file's name; none where the recordings are not there. */
import { listShared, readShared } from '../support/shared.ts';

const STREAMS = 'corpus/responses-stream';
const ANSWERS = 'corpus/responses-json';

/** Those that were streamed. */
export const streams = listShared(STREAMS, '.sse').map((file) => [file, readShared(`${STREAMS}/${file}`)] as const);

/** Those that came as a whole. */
export const answers = listShared(ANSWERS, '.json')
  .filter((file) => !file.endsWith('.request.json'))
  .map((file) => [file, readShared(`${ANSWERS}/${file}`)] as const);

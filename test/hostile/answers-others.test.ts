/** A hostile model server and all other kinds of requests. */
import { answerSuite } from './answers.ts';

answerSuite(
  'answers to other clients',
  [
    'a Responses answer',
    'a Responses stream over tools that need approval',
    'a Responses stream that allows another tool',
    'a Responses stream in a dialect',
    'a chat answer over our tools',
  ],
  'calls',
);

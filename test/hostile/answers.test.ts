/** A hostile model server and a stream of the Responses API. */
import { answerSuite } from './answers.ts';

answerSuite('answers to Responses streams', ['a Responses stream over our tools'], 'all');

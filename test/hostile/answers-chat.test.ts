/** A hostile model server and a chat stream. */
import { answerSuite } from './answers.ts';

answerSuite('answers to chat streams', ['a chat stream over our tools'], 'all');

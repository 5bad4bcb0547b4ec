import { answersOne } from '#src/http/answer-shapes.ts';
import { operation } from '#src/http/operation.ts';
import { meView } from './view-schemas.ts';

export const getMe = operation({
  operationId: 'getMe',
  summary: 'The account and the key that a request is made with',
  method: 'GET',
  path: '/',
  scope: 'any',
  answers: answersOne(meView, 'Who you are.'),
});

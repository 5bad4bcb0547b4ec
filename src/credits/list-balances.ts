export { type CreditBalance, listBalances } from './repository.ts';

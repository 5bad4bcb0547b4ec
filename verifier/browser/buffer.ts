// Node has it by itself.
export { Buffer } from 'buffer';

// The browser's `Buffer`; Node has its own.
export { Buffer } from 'buffer';

import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Config } from '#src/config.ts';
import { SECRET_KEY_BYTES } from '#src/platform/secrets.ts';

/** The secret key of embedded mode: made once, kept beside the data that is sealed under it. */
export function withSecretKey(config: Config): Config {
  if (config.secretKeys.length > 0) return config;
  const file = path.join(config.dataDir, 'secret-key');
  if (!existsSync(file)) {
    mkdirSync(config.dataDir, { recursive: true });
    writeFileSync(file, randomBytes(SECRET_KEY_BYTES).toString('base64'), { mode: 0o600, flag: 'wx' });
  }
  return { ...config, secretKeys: [Buffer.from(readFileSync(file, 'utf8').trim(), 'base64')] };
}

import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from './cli.ts';

type Shell = 'bash' | 'zsh' | 'fish';
const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];

/** A word that may follow, and what it is for. */
interface Word {
  readonly text: string;
  readonly about: string;
  /** A value stands behind it. */
  readonly takesValue: boolean;
}

/** A place in the tree of commands. */
interface Place {
  /** The words that lead to it, such as `accounts create`; empty for the program itself. */
  readonly path: string;
  readonly words: readonly Word[];
}

function placesOf(command: Command, path: readonly string[] = []): Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help');
  const options = help.visibleOptions(command).filter((option) => option.long !== undefined);
  const words = [
    ...commands.map((one) => ({ text: one.name(), about: one.description(), takesValue: false })),
    ...options.map((one) => ({ text: one.long ?? '', about: one.description, takesValue: one.required })),
  ];
  return [{ path: path.join(' '), words }, ...commands.flatMap((one) => placesOf(one, [...path, one.name()]))];
}

/** In single quotes: nothing in it means anything to the shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** fish knows `\'` inside of single quotes, the others do not. */
const fishQuoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const functionName = (name: string): string => `_${name.replaceAll(/[^A-Za-z0-9]/g, '_')}_complete`;

/** The words of a line lead to a place; words that are no command, such as values, lead nowhere. */
const followWords = (places: readonly Place[], words: string, from: number, until: string): string => `
  local at='' i
  for ((i = ${from}; i < ${until}; i++)); do
    case "$at \${${words}[i]}" in
      ${places
        .filter(({ path }) => path !== '')
        .map(({ path }) => quoted(` ${path}`))
        .join('|')}) at="$at \${${words}[i]}" ;;
    esac
  done`;

function bashScript(name: string, places: readonly Place[]): string {
  const cases = places.map(
    ({ path, words }) =>
      `    ${quoted(path === '' ? '' : ` ${path}`)}) words=${quoted(words.map(({ text }) => text).join(' '))} ;;`,
  );
  // Where nothing fits, bash goes on with the names of files.
  return `${functionName(name)}() {${followWords(places, 'COMP_WORDS', 1, 'COMP_CWORD')}
  local words=''
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F ${functionName(name)} ${name}
`;
}

function zshScript(name: string, places: readonly Place[]): string {
  const entry = ({ text, about }: Word): string => quoted(`${text}:${about.replaceAll(':', '\\:')}`);
  const cases = places.map(
    ({ path, words }) => `    ${quoted(path === '' ? '' : ` ${path}`)}) found=(${words.map(entry).join(' ')}) ;;`,
  );
  return `#compdef ${name}
${functionName(name)}() {${followWords(places, 'words', 2, 'CURRENT')}
  local -a found
  case "$at" in
${cases.join('\n')}
  esac
  _describe -t words word found || _files
}
compdef ${functionName(name)} ${name}
`;
}

function fishScript(name: string, places: readonly Place[]): string {
  const here = functionName(name);
  const paths = places.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path));
  const lines = places.flatMap(({ path, words }) =>
    words.map(({ text, about, takesValue }) => {
      const at = `complete -c ${name} -n ${fishQuoted(`${here} ${fishQuoted(path)}`)}`;
      const word = text.startsWith('--') ? `-l ${text.slice(2)}${takesValue ? ' -r' : ''}` : `-f -a ${text}`;
      return `${at} ${word} -d ${fishQuoted(about)}`;
    }),
  );
  return `function ${here}
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    contains -- "$next" ${paths.join(' ')}; and set at "$next"
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}
`;
}

const SCRIPTS: Readonly<Record<Shell, (name: string, places: readonly Place[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

function parseShell(text: string): Shell {
  const shell = SHELLS.find((one) => one === text);
  if (shell === undefined) throw new InvalidArgumentError(`must be one of ${SHELLS.join(', ')}`);
  return shell;
}

function parseCommandName(text: string): string {
  if (/^[A-Za-z][\w-]{0,40}$/.test(text)) return text;
  throw new InvalidArgumentError('must be a word of letters, digits, - and _');
}

const HELP = `
The commands are completed under a name of your own:
  $ alias voting='npm run --silent --prefix /srv/voting-service cli --'
  $ source <(voting completion bash)          # bash, in ~/.bashrc; zsh likewise, after compinit
  $ voting completion fish | source           # fish, in ~/.config/fish/config.fish`;

export function addCompletionCommand({ program, command }: Cli): void {
  command(program, 'completion', 'print a script that has a shell complete these commands', 'completion bash')
    .argument('<shell>', SHELLS.join(', '), parseShell)
    .option('--name <word>', 'what the command is called in your shell', parseCommandName, 'voting')
    .addHelpText('after', HELP)
    .action((shell: Shell, { name }: { name: string }) => {
      process.stdout.write(SCRIPTS[shell](name, placesOf(program)));
    });
}
